"""Starting, and nothing else: modules that import many."""
import argparse
import asyncio
import decimal
import json
import logging
import re
import sqlite3
import typing
import unittest

print(len([argparse, asyncio, decimal, json, logging, re, sqlite3, typing, unittest]))
