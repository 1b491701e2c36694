from setuptools import Extension, setup

setup(ext_modules=[Extension("primes._count", ["src/primes/_count.c"])])
