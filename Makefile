# A thin front: meson does the building. `make demo` and `make test` are all a newcomer needs.
BUILD := build

.PHONY: all deps deps-test deps-test-all demo test test-all bench asan fuzz format install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja: | deps
	@meson setup $(BUILD) >$(BUILD)-setup.log 2>&1 || { cat $(BUILD)-setup.log; exit 1; }
	@rm -f $(BUILD)-setup.log

deps:
	@./deps.sh

deps-test:
	@./deps.sh test

deps-test-all:
	@./deps.sh test-all

demo: all
	@./examples/demo.sh

test: deps-test all
	@./tests/run.sh

test-all: deps-test-all all
	@./tests/run.sh --all

bench: deps-test all
	@./bench/run.py --all

asan: deps-test
	@./tests/asan.sh

fuzz: deps-test all
	@./tests/fuzz/run.sh

format:
	@git ls-files '*.c' '*.h' ':!:*/assembly.h' | xargs clang-format -i

install: all
	@meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)
