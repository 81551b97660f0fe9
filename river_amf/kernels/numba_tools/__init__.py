"""How kernels are compiled and cached, and how they see the arrays.

These modules alone use what Numba does not promise. In a release without it, they fail at import or
at the first kernel, which the weekly tests with the newest Numba show; only `halfway` gives way by
itself. What it is, why, and what else there is:

- `compilation`: the options `_nrt`, `no_cpython_wrapper` and `no_cfunc_wrapper`, or there would be
  twice the code, for reference counts and wrappers. Leave them out.
- `compilation`: `get_call_template`, or each constant compiles helpers again. Leave it out.
- `compilation`: `AbstractTemplate`, `infer_global`, for calls by the kind of forest. An `overload`
  for each function does so, too, with one more function to compile.
- `compilation`: `global_compiler_lock`, for forks and the end of a process. Lock `compile` instead.
- `cache`: `FunctionCache`, `_CacheLocator` and the like, and `_cache` of a dispatcher, as Numba's
  cache misses changes in other files. Without them, each process compiles.
- `views`, `arrays`: `cgutils`, data models and `AttributeTemplate`, by which all arrays are one
  pointer. To pass them one by one takes twice the time to compile.
- `views`: `GetItemBuffer` and `SetItemBuffer`, to be tried first. Leave them out.
- `halfway`: the compiler's passes and libraries. It is off in versions that it does not list.
"""

import numba

IS_COMPILED = not numba.config.DISABLE_JIT
