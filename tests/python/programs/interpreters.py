"""An interpreter in an interpreter: see test_programs.py."""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

SOURCE = """
def inside(n):
    return n * 2
for i in range(20):
    inside(i)
print("inside", flush=True)
"""


def outside():
    return 1


other = interpreters.create()
if hasattr(interpreters, "exec"):
    interpreters.exec(other, SOURCE)
else:
    interpreters.run_string(other, SOURCE)
outside()
interpreters.destroy(other)
print("outside")
