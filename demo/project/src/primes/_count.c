#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *below(PyObject *self, PyObject *argument) {
  long limit = PyLong_AsLong(argument);
  if (limit == -1 && PyErr_Occurred()) {
    return NULL;
  }
  long count = 0;
  for (long candidate = 2; candidate < limit; candidate++) {
    long divisor = 2;
    while (divisor * divisor <= candidate && candidate % divisor != 0) {
      divisor++;
    }
    if (divisor * divisor > candidate) {
      count++;
    }
  }
  return PyLong_FromLong(count);
}

static PyMethodDef methods[] = {
    {"below", below, METH_O, "How many primes are below a number."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_count", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__count(void) { return PyModule_Create(&module); }
