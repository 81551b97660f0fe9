"""How kernels are compiled and cached, and how they see the arrays."""

import numba

IS_COMPILED = not numba.config.DISABLE_JIT
