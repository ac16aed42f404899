import argparse

parser = argparse.ArgumentParser(prog="arguments")
parser.add_argument("--count", type=int, default=1, help="how many")
print(parser.parse_args().count)
