# A thin front: meson does the building. `make demo` and `make test` are all a newcomer needs.
BUILD := build

.PHONY: all deps demo test test-all bench asan fuzz format install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja: | deps
	@meson setup $(BUILD) >/dev/null

deps:
	@./deps.sh

demo: all
	@./examples/demo.sh

test: all
	@./tests/run.sh

test-all: all
	@./tests/run.sh --all

bench: all
	@./bench/run.py

asan: deps
	@./tests/asan.sh

fuzz: deps
	@./tests/fuzz/run.sh

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

install: all
	@meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)
