"""leat for Python: correlations, clusters, curves through nodes and landslides of arrays in memory, on the CPU's cores
or on a CUDA device. The results are those of the program `leat` to the bit.

    import leat
    leat.correlate(x, method="spearman").matrix()      # x: [series, samples]
    leat.kmeans(points, 5).labels
    leat.Interpolant(x, y)(queries)
    leat.landslide(dem, source, steps=1000).thickness
    leat.run("wells.clusters.csv", top=50)["r"]        # the command on files

Arrays are NumPy's, or anything that NumPy converts. leat reads float64 and float32 in place, also every second row of a
larger array. It copies other types, and rows whose numbers are not contiguous. It reads contiguous float32 and float64
arrays of CuPy and PyTorch in the memory of a CUDA device (__cuda_array_interface__) there. Results are NumPy arrays,
except those of an Interpolant at CUDA queries. Masked numbers of a masked array count as NaN.

Every function takes a `context` (see Context). Without one it computes on all cores, or on the device that has the
array. Ctrl-C cancels a call. Errors are subclasses of leat.Error, with leat's own words.

leat.h of libleat-dev has the full contract of each function; leat-pearson(7), leat-sciddicat(7), leat-interpolate(7) and
leat-kmeans(7) describe the methods.
"""
from __future__ import annotations

import ctypes
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Union

if TYPE_CHECKING:
    import numpy as np
else:

    class _NumPy:
        """Imported when it is needed: the program, as a script of the wheel, begins without."""

        def __getattr__(self, name):
            try:
                import numpy
            except ImportError as e:
                raise ImportError("arrays need NumPy: pip install numpy, or Debian's python3-numpy") from e
            return getattr(numpy, name)

    np = _NumPy()

_HERE = os.path.dirname(os.path.realpath(__file__))


# --- errors ---------------------------------------------------------------------------------------


class Error(Exception):
    """The base of all errors of leat."""


class BadArgument(Error, ValueError):
    """An argument that is wrong whatever the data are."""


class BadInput(Error, ValueError):
    """Numbers or a file that leat cannot use."""


class TooLarge(Error, MemoryError):
    """The call needs more memory than the context may take, or than a size_t counts."""


class NoMemory(Error, MemoryError):
    """The system has no memory left."""


class NoBackend(Error):
    """No CUDA device works, or BLAS is missing."""


class DeviceFailed(Error):
    """The device has failed: close the context."""


class Cancelled(Error):
    """Context.cancel() was called, or `progress` returned True."""


_CANCELLED = 7
_ERRORS = (None, BadArgument, BadInput, TooLarge, NoMemory, NoBackend, DeviceFailed, Cancelled, Error)

# --- libleat (leat.h) -----------------------------------------------------------------------------

_int, _size, _u64, _f8, _at = ctypes.c_int, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_double, ctypes.c_void_p
_progress_type = ctypes.CFUNCTYPE(_int, _at, _f8)


def _structure(name: str, **fields: Any) -> Any:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields.items())})


_Options = _structure("leat_options", size=_size, backend=ctypes.c_char_p, device=_int, threads=_size, memory=_u64,
                      progress=_progress_type, user=_at)
_Array = _structure("leat_array", data=_at, type=_int, rows=_size, columns=_size, row_bytes=_size, memory=_int, stream=_at)
_CorrelateOptions = _structure("leat_correlate_options", size=_size, method=_int, precision=_int, min_samples=_size,
                               top=_size, without_r=_int, lag_first=_int, lag_last=_int)
_Pair = _structure("leat_pair", i=ctypes.c_uint32, j=ctypes.c_uint32, r=_f8)
_CorrelateResult = _structure("leat_correlate_result", n_series=_size, n_samples=_size, count=_at, mean=_at, m2=_at,
                              min=_at, max=_at, lag1=_at, median_abs=_at, r=_at, pairs=_at, n_pairs=_size,
                              n_undefined=_u64, lag=_at)
_KmeansOptions = _structure("leat_kmeans_options", size=_size, k=_size, k_last=_size, n_init=_size, seed=_u64,
                            max_iter=_u64, tol=_f8, init=_int, scale=_int)
_KmeansResult = _structure("leat_kmeans_result", k=_size, n=_size, columns=_size, centroids=_at, labels=_at, counts=_at,
                           within=_at, inertia=_f8, silhouette=_f8, n_iterations=_u64, converged=_int)
_LandslideOptions = _structure("leat_landslide_options", size=_size, steps=_u64, settle=_u64, report_every=_u64,
                               epsilon=_f8, r=_f8, nodata=_int)
_Report = _structure("leat_landslide_report", step=_u64, on_map=_f8, lost_edge=_f8, lost_nodata=_f8, largest=_f8,
                     n_active=_u64)
_LandslideResult = _structure("leat_landslide_result", rows=_size, columns=_size, thickness=_at, max_thickness=_at,
                              arrival=_at, reports=_at, n_reports=_size, settled=_int)

_METHODS = {"pearson": 0, "spearman": 1}
_PRECISIONS = {"exact": 0, "f32": 1}
_INITS = {"k-means++": 0, "random": 1, "first": 2}
_SCALES = {"none": 0, "unit": 1, "range": 2}
_CURVES = {"auto": 0, "chebyshev": 1, "barycentric": 2, "floater-hormann": 3, "pchip": 4, "spline": 5}
_NODATA = {"wall": 0, "sink": 1}


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    """libleat: from $LEAT_LIBRARY, the wheel, the prefix in which this file is installed, or the system."""
    places = [os.environ.get("LEAT_LIBRARY", ""), _HERE + "/lib/libleat.so.0", _HERE + "/../../libleat.so.0"]
    try:
        library = ctypes.CDLL(next((place for place in places if os.path.exists(place)), "libleat.so.0"))
    except OSError as e:
        raise ImportError(f"libleat cannot be loaded ({e}): install the wheel or libleat0, or set LEAT_LIBRARY") from e
    pointers = [_at] * 4
    for name, gives, *takes in [
            ("version", ctypes.c_char_p), ("error", ctypes.c_char_p, _at), ("backend", ctypes.c_char_p, _at),
            ("open", _int, _at, _at), ("close", None, _at), ("cancel", None, _at),
            ("correlate", _int, *pointers), ("correlate_free", None, _at),
            ("kmeans", _int, *pointers), ("kmeans_free", None, _at),
            ("landslide", _int, *pointers, _at), ("landslide_free", None, _at),
            ("interpolant_new", _int, _at, _at, _at, _size, _size, _int, _u64, _at), ("interpolant_free", None, _at),
            ("interpolant_evaluate", _int, _at, _at, _size, _at), ("interpolant_lebesgue", _f8, _at),
            ("interpolant_evaluate_device", _int, _at, _at, _size, _at, _at)]:
        function = getattr(library, "leat_" + name)
        function.restype, function.argtypes = gives, takes
    return library


def __getattr__(name: str) -> str:
    if name == "__version__":
        return _library().leat_version().decode()
    raise AttributeError(f"module 'leat' has no attribute '{name}'")


# --- contexts -------------------------------------------------------------------------------------


class Context:
    """What computes: the threads of a CPU, or a CUDA device. Threads of Python may share one, and take turns.

    backend: "cpu", "cuda", or "auto": CUDA where it works. device: number of the CUDA device, from 0. threads: number of
    computing threads; 0: all processors of the process. memory: bytes that a call may take beside its arguments and
    results; 0: no limit. progress(share): called now and then, in another thread, with the share of the work that is done,
    0 to 1; if it raises an exception or returns True, the call is cancelled. A `with` statement closes the context at its end.

    Raises BadArgument, NoBackend, NoMemory.
    """

    _handle: Any = None

    def __init__(self, backend: str = "cpu", *, device: int = 0, threads: int = 0, memory: int = 0,
                 progress: Optional[Callable[[float], Any]] = None) -> None:
        self._pid = os.getpid()  # threads do not survive a fork
        self._lock = threading.Lock()
        self._running: Any = None
        self._interpolants: set = set()
        self._unused: list = []  # interpolants to be freed, which the calls of others may not meet
        self._progress = _progress_type(functools.partial(self._on_progress, progress)) if progress else _progress_type()
        options = _Options(ctypes.sizeof(_Options), backend.encode(), device, _count("threads", threads, 0),
                           _count("memory", memory, 0), self._progress, None)
        handle = _at()
        status = _library().leat_open(ctypes.byref(options), ctypes.byref(handle))
        if status:
            raise _ERRORS[status](_library().leat_error(None).decode())
        self._handle = handle

    @property
    def backend(self) -> str:
        """What computes: "cpu: AMD EPYC ..., 16 threads"."""
        return _library().leat_backend(self._open()).decode()

    def cancel(self) -> None:
        """Cancels the call under way: it soon raises Cancelled, unless it is about to end. Any thread may call this."""
        running = self._running
        if running is not None and self._handle is not None:
            running.stop = True
            _library().leat_cancel(self._handle)

    def close(self) -> None:
        """Frees threads, device, memory and interpolants of the context. A closed context cannot compute."""
        if self._handle is None or self._pid != os.getpid():
            return
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                for interpolant in self._interpolants:
                    _library().leat_interpolant_free(interpolant)
                _library().leat_close(handle)

    __del__ = close

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _open(self) -> Any:
        if self._handle is None or self._pid != os.getpid():
            raise ValueError("the context is closed, or another process's: open one here")
        return self._handle

    def _on_progress(self, progress: Callable, _user: Any, share: float) -> int:
        running = self._running
        try:
            if progress(share):
                running.stop = True
        except BaseException as e:  # the caller's to see
            running.stop, running.raised = True, e
        return running.stop

    def _do(self, kept: Any, function: Any, *arguments: Any) -> None:
        """Calls the library in another thread, so that this thread can be interrupted meanwhile; kept: objects that must
        live until the call has ended."""
        call = SimpleNamespace(stop=False, raised=None, ended=threading.Event(), kept=kept)
        thread = threading.Thread(target=self._work, args=(call, function, arguments), daemon=True)
        try:
            thread.start()
            while not call.ended.wait(0.5):  # a signal just before it is seen after it
                pass
        except BaseException:
            call.stop = True
            if self._running is call:
                self.cancel()
            while thread.is_alive() and not call.ended.wait(0.5):
                pass
            raise
        if call.raised:
            raise call.raised

    def _work(self, call: Any, function: Any, arguments: Sequence) -> None:
        try:
            with self._lock:
                handle, status, self._running = self._open(), _CANCELLED, call
                while self._unused:
                    interpolant = self._unused.pop()
                    self._interpolants.discard(interpolant)
                    _library().leat_interpolant_free(interpolant)
                while status == _CANCELLED and not call.stop:  # once more, if another call was meant
                    status = function(*arguments)
                self._running = None
                if status:
                    message = _library().leat_error(handle).decode() if status != _CANCELLED else "the call was cancelled"
                    call.raised = call.raised or _ERRORS[status](message)
        except BaseException as e:
            call.raised = e
        finally:
            call.ended.set()


@functools.lru_cache(maxsize=None)
def _default(backend: str, device: int) -> Context:
    return Context(backend, device=device)


os.register_at_fork(after_in_child=_default.cache_clear)


def _context(context: Optional[Context], *arrays: Any) -> Context:
    there = [x for x in arrays if hasattr(x, "__cuda_array_interface__")]
    if context is None and there:
        device = getattr(there[0], "device", None)
        context = _default("cuda", getattr(device, "index", None) or getattr(device, "id", 0))
    return context or _default("cpu", 0)


# --- arguments and results ------------------------------------------------------------------------


def _count(name: str, value: Any, least: int) -> int:
    if int(value) != value or value < least:
        raise BadArgument(f"{name}: {value!r}; give a whole number from {least} on")
    return int(value)


def _word(name: str, value: str, words: dict) -> int:
    if value not in words:
        raise BadArgument(f"{name}: {value!r}; give one of {', '.join(words)}")
    return words[value]


def _on_host(x: Any) -> Any:
    """x as an array of float64 or float32, in place where it is one."""
    if isinstance(x, np.ma.MaskedArray):
        x = x.astype(x.dtype if x.dtype == np.float32 else np.float64).filled(np.nan)
    x = np.asarray(x)
    if np.iscomplexobj(x):
        raise BadArgument("complex numbers: give their real parts, or magnitudes")
    return x if x.dtype in (np.float32, np.float64) and x.flags.aligned else x.astype(np.float64)


def _on_device(name: str, x: Any) -> tuple:
    """Address, number type, shape and stream of an array in a device's memory."""
    told = x.__cuda_array_interface__
    number = {"<f8": 0, "<f4": 1}.get(told["typestr"])
    bytes_ = int(told["typestr"][2:])
    dense = [bytes_ * int(n) for n in _products(told["shape"])]
    if number is None or told.get("mask") is not None:
        raise BadArgument(f"{name}: in device memory {told['typestr']} is not read; give float32 or float64, unmasked")
    if told.get("strides") is not None and list(told["strides"]) != dense:
        raise BadArgument(f"{name}: in device memory rows must be contiguous; give a contiguous copy")
    stream = told.get("stream")
    if type(x).__module__.partition(".")[0] == "torch":  # it does not tell
        stream = sys.modules["torch"].cuda.current_stream(x.device).cuda_stream
    return told["data"][0], number, tuple(told["shape"]), stream


def _products(shape: Sequence[int]) -> list:
    """For each axis, how many numbers one step along it passes."""
    steps = [1]
    for n in reversed(shape[1:]):
        steps.insert(0, steps[0] * n)
    return steps[:len(shape)]


def _matrix(name: str, x: Any) -> tuple:
    """A struct leat_array, and the object that must live as long."""
    if hasattr(x, "__cuda_array_interface__"):
        address, number, shape, stream = _on_device(name, x)
        row_bytes, memory = 0, 1
    else:
        x = _on_host(x)
        if x.ndim == 2 and not (x.strides[1] == x.itemsize and
                                (x.strides[0] > x.shape[1] * x.itemsize and x.strides[0] % x.itemsize == 0)):
            x = np.ascontiguousarray(x)
        address, number, shape, stream = x.ctypes.data, int(x.dtype == np.float32), x.shape, None
        row_bytes, memory = x.strides[0] if x.ndim == 2 and x.shape[0] > 1 else 0, 0
    if len(shape) != 2:
        raise BadArgument(f"{name}: it has {len(shape)} dimensions; give 2: rows and columns")
    return _Array(address, number, *shape, row_bytes, memory, stream), x


class _Owner:
    """A result that the library has allocated. It is freed when no array refers to it."""

    def __init__(self, context: Context, name: str, options: Any, kind: Any, *arrays: tuple) -> None:
        options.size = ctypes.sizeof(options)
        made = ctypes.POINTER(kind)()
        context._do(arrays, getattr(_library(), "leat_" + name), context._handle, *(ctypes.byref(array) for array, _ in arrays),
                    ctypes.byref(options), ctypes.byref(made))
        self._free, self._made, self.it = getattr(_library(), f"leat_{name}_free"), made, made.contents

    def __del__(self) -> None:
        if hasattr(self, "_free"):
            self._free(self._made)

    def array(self, name: str, kind: Any, *shape: int) -> Any:
        address = getattr(self.it, name)
        if not address:
            return None
        memory = (kind * functools.reduce(int.__mul__, shape)).from_address(address)
        memory.owner = self
        return np.ctypeslib.as_array(memory).reshape(shape)

    def arrays(self, names: str, kind: Any, *shape: int) -> dict:
        return {name: self.array(name, kind, *shape) for name in names.split()}


# --- correlations ---------------------------------------------------------------------------------


@dataclass(eq=False)
class Correlation:
    """Of n series. Moments are those of the samples that are not missing, or of their ranks (method="spearman")."""

    r: Optional[np.ndarray]  #: [n (n - 1) / 2], of pairs (0,1), (0,2), ..., (1,2), ..., as SciPy's squareform; NaN: none
    pairs: Optional[np.ndarray]  #: [top], fields i < j and r: the strongest by falling |r|; None: not wanted
    n_undefined: int  #: pairs without r
    count: np.ndarray  #: [n], samples that are not missing
    mean: np.ndarray  #: [n]
    m2: np.ndarray  #: [n], sum of squared deviations from the mean
    min: np.ndarray  #: [n]
    max: np.ndarray  #: [n]
    lag1: np.ndarray  #: [n], autocorrelation at lag 1
    median_abs: np.ndarray  #: [n], median of |r| of a series' pairs
    lag: Optional[np.ndarray] = None  #: int32, in the order of r: samples by which j is behind i; None: no lags wanted

    @property
    def std(self) -> np.ndarray:
        """[n], standard deviations, as numpy.std(ddof=1)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sqrt(self.m2 / (self.count - 1))

    def matrix(self) -> np.ndarray:
        """[n, n], as numpy.corrcoef: r of all pairs, with 1 in the diagonal."""
        n = len(self.count)
        matrix = np.ones((n, n))
        at = np.triu_indices(n, 1)
        matrix[at] = matrix[at[::-1]] = self.r
        return matrix

    def lag_matrix(self) -> np.ndarray:
        """[n, n], int32: the samples by which series j is behind series i, at [i, j]; 0 in the diagonal."""
        n = len(self.count)
        matrix = np.zeros((n, n), np.int32)
        at = np.triu_indices(n, 1)
        matrix[at], matrix[at[::-1]] = self.lag, -self.lag
        return matrix


def correlate(x: Any, method: str = "pearson", *, precision: str = "exact", min_samples: int = 3, top: int = 0,
              r: bool = True, lags: Union[int, Sequence[int]] = 0, context: Optional[Context] = None) -> Correlation:
    """Correlates every pair of series.

    x: [series, samples], at least 2 of each; NaN: a missing sample. method: "pearson", or "spearman": of average ranks.
    precision: largest error of r; "exact" 1e-12 (1e-10 for pairs with missing samples), "f32" 1e-6. min_samples: a pair with
    fewer common samples has no r; at least 2. top: how many of the strongest pairs to return, at most 2^24. r=False: only
    these pairs and the moments, no r. lags: each pair at the lag of its largest |r|, of -lags to lags, or of (first, last);
    for "pearson" and series without missing samples, always "exact". At least min_samples samples must be left.

    Raises BadInput, which names the series, for infinite samples and for samples too large to be squared, except with
    "spearman", and for missing samples with lags; BadArgument, TooLarge, NoMemory, NoBackend, DeviceFailed, Cancelled.
    """
    chosen = _context(context, x)
    _choose_products()
    options = _CorrelateOptions(0, _word("method", method, _METHODS), _word("precision", precision, _PRECISIONS),
                                _count("min_samples", min_samples, 2), _count("top", top, 0), not r, *_range_of_lags(lags))
    made = _Owner(chosen, "correlate", options, _CorrelateResult, _matrix("x", x))
    n = made.it.n_series
    return Correlation(r=made.array("r", _f8, n * (n - 1) // 2), pairs=made.array("pairs", _Pair, made.it.n_pairs),
                       n_undefined=made.it.n_undefined, lag=made.array("lag", ctypes.c_int32, n * (n - 1) // 2),
                       **made.arrays("count mean m2 min max lag1 median_abs", _f8, n))


def _range_of_lags(lags: Any) -> list:
    ends = [-lags, lags] if np.ndim(lags) == 0 else list(lags)
    most = 1 << 20
    if len(ends) != 2 or not all(int(lag) == lag and -most <= lag <= most for lag in ends) or ends[0] > ends[1]:
        raise BadArgument(f"lags: {lags!r}; give a whole number from 0 to {most}, or a range (first, last)")
    return [int(lag) for lag in ends]


@functools.lru_cache(maxsize=None)
def _choose_products() -> None:
    """Lets OpenBLAS choose the same kernels as for the program. It loads with the first product, and does not know
    processors newer than itself. If NumPy has loaded the same OpenBLAS before, NumPy has chosen."""
    if "OPENBLAS_CORETYPE" not in os.environ and os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            flags = next((set(line.split()) for line in f if line.startswith("flags")), set())
        core = "SkylakeX" if {"avx512f", "avx512dq", "avx512vl"} <= flags else "Haswell" if "avx2" in flags else None
        if core is not None:
            os.environ["OPENBLAS_CORETYPE"] = core
            try:
                _Owner(_default("cpu", 0), "correlate", _CorrelateOptions(), _CorrelateResult, _matrix("x", np.eye(2, 3)))
            finally:
                del os.environ["OPENBLAS_CORETYPE"]


# --- clusters -------------------------------------------------------------------------------------


@dataclass(eq=False)
class Clusters:
    """k clusters of n points."""

    centroids: np.ndarray  #: [k, columns]
    labels: np.ndarray  #: [n], int32: 0 to k - 1
    counts: np.ndarray  #: [k], points of each cluster
    within: np.ndarray  #: [k], sums of squared distances to the centroid, of scaled columns
    inertia: float  #: their sum
    silhouette: float  #: of a sample of at most 1000 points; NaN: all of them in one cluster
    n_iterations: int  #: of the best run
    converged: bool


def kmeans(x: Any, k: Union[int, Sequence[int]] = 8, *, n_init: int = 10, seed: int = 0, max_iter: int = 300,
           tol: float = 1e-4, init: str = "k-means++", scale: str = "none", context: Optional[Context] = None) -> Clusters:
    """Divides points into k clusters, by Lloyd's algorithm.

    x: [points, columns], finite. k: number of clusters, or (first, last) to try these numbers and take the one with the
    best silhouette. n_init: runs of each k from different first centroids; the best one counts. init: "k-means++" (greedy),
    "random" points, or the "first" k points. max_iter: most iterations of a run. tol: a run ends when the centroids move less,
    relative to the mean variance of the columns; 0: when no label changes. scale: "unit" or "range" scale each column to a
    standard deviation or a range of 1; "none".

    Raises BadInput, which names the row and column, for numbers that are not finite; BadArgument, TooLarge, NoMemory,
    NoBackend, DeviceFailed, Cancelled.
    """
    first, last = (k, k) if np.ndim(k) == 0 else (min(k), max(k))  # type: ignore[arg-type]
    options = _KmeansOptions(0, _count("k", first, 1), _count("k", last, 1), _count("n_init", n_init, 1),
                             _count("seed", seed, 0), _count("max_iter", max_iter, 1), tol if tol != 0 else -1,
                             _word("init", init, _INITS), _word("scale", scale, _SCALES))
    made = _Owner(_context(context, x), "kmeans", options, _KmeansResult, _matrix("x", x))
    it = made.it
    return Clusters(centroids=made.array("centroids", _f8, it.k, it.columns),
                    labels=made.array("labels", ctypes.c_int32, it.n), counts=made.array("counts", _u64, it.k),
                    within=made.array("within", _f8, it.k), inertia=it.inertia, silhouette=it.silhouette,
                    n_iterations=it.n_iterations, converged=bool(it.converged))


# --- curves through nodes -------------------------------------------------------------------------


class Interpolant:
    """Curves through nodes, set up once: `Interpolant(x, y)(queries)`, as SciPy's BarycentricInterpolator.

    x: [n], in any order, no number twice. y: [n], or [n, curves]. All finite. method: "chebyshev" and "barycentric" are
    the polynomial, and "auto" takes the faster of the two; "floater-hormann": a rational function of degree 3; "pchip" and
    "spline": cubics from node to node, as SciPy's PchipInterpolator and CubicSpline. n is at most 32768, for cubics 16777216.
    n_queries: the expected number of queries, for the choice of "auto"; 0: many.

    Raises BadInput, which names the nodes; BadArgument, TooLarge, NoMemory, NoBackend, DeviceFailed.
    """

    _handle: Any = None

    def __init__(self, x: Any, y: Any, method: str = "auto", *, n_queries: int = 0,
                 context: Optional[Context] = None) -> None:
        self._context = _context(context)
        x, y = np.ascontiguousarray(x, np.float64), np.asarray(y, np.float64)
        if x.ndim != 1 or y.ndim not in (1, 2) or len(y) != len(x):
            raise BadArgument(f"x, y: shapes {x.shape} and {y.shape}; give [n], and [n] or [n, curves]")
        self._curves = y.shape[1:]
        y = np.ascontiguousarray(y.T)
        handle = _at()
        self._context._do((x, y), _library().leat_interpolant_new, self._context._handle, x.ctypes.data, y.ctypes.data, len(x),
                          y.size // max(len(x), 1), _word("method", method, _CURVES), _count("n_queries", n_queries, 0),
                          ctypes.byref(handle))
        self._handle = handle.value
        self._context._interpolants.add(self._handle)

    def __del__(self) -> None:
        if self._handle is not None:
            self._context._unused.append(self._handle)

    def __call__(self, queries: Any) -> Any:
        """Values at queries of any shape, in an array of that shape; several curves add a last axis. Far from the nodes a
        value may be infinite; at NaN it is NaN. CUDA queries (float64) give a CUDA array of the same library, in its
        current stream."""
        self._context._open()
        if hasattr(queries, "__cuda_array_interface__"):
            address, number, shape, stream = _on_device("queries", queries)
            if number != 0:
                raise BadArgument("queries: in device memory give float64")
            shape += self._curves
            values = queries.new_empty(shape) if hasattr(queries, "new_empty") else type(queries)(shape, queries.dtype)
            self._context._do((queries, values), _library().leat_interpolant_evaluate_device, self._handle, address,
                              functools.reduce(int.__mul__, shape[:len(shape) - len(self._curves)], 1),
                              _on_device("values", values)[0], stream)
            return values
        at = np.ascontiguousarray(queries, np.float64)
        values = np.empty(np.shape(queries) + self._curves)
        if at.size > 0:
            self._context._do((at, values), _library().leat_interpolant_evaluate, self._handle, at.ctypes.data, at.size,
                              values.ctypes.data)
        return values

    @property
    def lebesgue(self) -> float:
        """The Lebesgue constant of the nodes: the factor by which errors of y may grow; NaN for cubics."""
        self._context._open()
        return _library().leat_interpolant_lebesgue(self._handle)


# --- landslides -----------------------------------------------------------------------------------


@dataclass(eq=False)
class Landslide:
    """Maps are [rows, columns]."""

    thickness: np.ndarray  #: m, at the end; NaN where the altitude is NaN
    max_thickness: np.ndarray  #: m, likewise, the largest at any step
    arrival: np.ndarray  #: int32: the first step after which a cell had more than epsilon; 0: from the start; -1: never
    reports: np.ndarray  #: fields step, on_map, lost_edge, lost_nodata (sums over cells, m), largest (m), n_active
    settled: bool  #: no cell moved in the last step, and so it ended early


def landslide(dem: Any, source: Any, steps: int = 4000, *, settle: int = 0, report_every: int = 0,
              epsilon: float = 0.001, r: float = 0.5, nodata: str = "wall",
              context: Optional[Context] = None) -> Landslide:
    """Simulates debris that flows over a terrain, by the cellular automaton sciddicaT.

    dem: [rows, columns], altitudes in m of the surface, which includes the debris; NaN: NODATA. source: of the same shape,
    thickness of the debris in m; NaN: 0. steps: at least 1. settle: steps between checks whether any cell still moves;
    0: none. report_every: steps from one report to the next; 0: a hundredth of all. epsilon: thickness in m that adheres.
    r: the share of a flow that happens in one step, at most 1. nodata: cells without an altitude take no debris ("wall"), or
    swallow it ("sink"). Debris that flows to the outermost cells has left the map.

    Raises BadInput, which names the row and column, for altitudes beyond +-1e9 and thicknesses not from 0 to 1e9;
    BadArgument, TooLarge, NoMemory, NoBackend, DeviceFailed, Cancelled.
    """
    if not r > 0:
        raise BadArgument(f"r: {r!r}; give more than 0, and at most 1")
    options = _LandslideOptions(0, _count("steps", steps, 1), _count("settle", settle, 0),
                                _count("report_every", report_every, 0), epsilon if epsilon != 0 else -1, r,
                                _word("nodata", nodata, _NODATA))
    made = _Owner(_context(context, dem, source), "landslide", options, _LandslideResult, _matrix("dem", dem),
                  _matrix("source", source))
    shape = made.it.rows, made.it.columns
    return Landslide(**made.arrays("thickness max_thickness", _f8, *shape),
                     arrival=made.array("arrival", ctypes.c_int32, *shape),
                     reports=made.array("reports", _Report, made.it.n_reports), settled=bool(made.it.settled))


# --- the command ----------------------------------------------------------------------------------


def _program() -> str:
    places = [_HERE + "/bin/leat", _HERE + "/../../../bin/leat", shutil.which("leat") or ""]
    try:
        return next(place for place in places if os.access(place, os.X_OK))
    except StopIteration:
        raise FileNotFoundError("no program leat is found: install the wheel or the package leat") from None


def main() -> None:
    """Replaces this process by the program; the script `leat` of the wheel calls it."""
    for number in signal.SIGPIPE, signal.SIGXFSZ:  # which Python ignores
        signal.signal(number, signal.SIG_DFL)
    program = _program()
    os.execv(program, ["leat", *sys.argv[1:]])


def run(*paths: Union[str, os.PathLike], pipeline: Optional[str] = None, output: Union[str, os.PathLike, None] = None,
        options: Sequence[str] = (), tables: bool = True, **parameters: Any) -> dict:
    """Runs `leat run` on files, folders or archives, and loads the results.

    parameters: of the pipeline, as `leat help PIPELINE` lists them: k=5, p_r=(0.3, 0.7), missing_value=-200. pipeline:
    needed if the names of the files do not select one. options: further options of the command, such as
    ["--backend", "cuda", "--force"]. output: the folder for results; None: a temporary folder. Returns what load() returns;
    for several results, a dict of these by the names of their folders.

    Raises BadInput if leat cannot use a file, Error for other failures, with the command's words.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="leat-") as scratch:
        where = os.fspath(output) if output is not None else scratch
        command = [_program(), "run", "--json", "-q", "-o", where, *options, *(["-p", pipeline] if pipeline else [])]
        for name, value in parameters.items():
            text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
            command += ["-s", f"{name}={text}"]
        with subprocess.Popen([*command, "--", *map(os.fspath, paths)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace") as process:
            try:
                said, complaints = process.communicate()
            except BaseException:
                process.terminate()  # it removes what is half done
                process.wait()
                raise
        jobs = [job for job in map(json.loads, said.splitlines()) if "status" in job]
        failed = [job for job in jobs if "error" in job]
        if failed or process.returncode != 0:
            kind = BadInput if failed and failed[0]["status"] == "bad-input" else Error
            raise kind("\n".join(job["error"] for job in failed) or complaints.strip())
        results = {os.path.relpath(job["output"], where): load(job["output"], tables=tables) for job in jobs}
    return next(iter(results.values())) if len(results) == 1 else results


def load(folder: Union[str, os.PathLike], *, tables: bool = True) -> dict:
    """Loads a result of the command or the service into a dict. It has the members of result.json ("summary", "parameters",
    "warnings", ...), the arrays of .npz files under their own names, and grids and tables under the names of their files
    (thickness, pairs). Grids are [rows, columns]; NODATA is NaN. Tables are dicts of columns; NaN: no number.
    tables=False: without tables, which take longest. RESULTS in leat-pearson(7), leat-sciddicat(7), leat-interpolate(7) and
    leat-kmeans(7) describes them."""
    folder = os.fspath(folder)
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
        result = json.load(f)
    for name in [output["name"] for output in result["outputs"]]:
        path, stem = os.path.join(folder, name), name.partition(".")[0]
        if name.endswith(".npz"):
            with np.load(path) as arrays:
                result.update({stem: dict(arrays)} if stem == "state" else arrays)
        elif name.endswith(".tif"):
            result[stem] = _read_grid(path)
        elif name.endswith(".csv.gz") and tables:
            result[stem] = _read_table(path)
    return result


def _read_table(path: str) -> dict:
    import csv
    import gzip

    with gzip.open(path, "rt", encoding="utf-8", newline="") as f:
        head, *rows = csv.reader(f)
    table = {}
    for name, cells in zip(head, zip(*rows) if rows else [()] * len(head)):
        try:
            table[name] = np.array([cell or "nan" for cell in cells], dtype=np.float64)
        except ValueError:
            table[name] = np.array(cells)
    return table


def _read_grid(path: str) -> np.ndarray:
    """A GeoTIFF as leat writes it: deflated tiles after a predictor."""
    import zlib

    with open(path, "rb") as f:
        data = f.read()
    big = data[2] == 43
    pointer, entry_bytes = ("<u8", 20) if big else ("<u4", 12)
    at = int(np.frombuffer(data, pointer, 1, 8 if big else 4)[0])
    n = int(np.frombuffer(data, "<u8" if big else "<u2", 1, at)[0])
    tags = {}
    for entry in range(at + (8 if big else 2), at + (8 if big else 2) + n * entry_bytes, entry_bytes):
        tag, kind = np.frombuffer(data, "<u2", 2, entry)
        count, value = (int(np.frombuffer(data, pointer, 1, place)[0])
                        for place in (entry + 4, entry + (12 if big else 8)))
        number = np.dtype({2: "S1", 3: "<u2", 4: "<u4", 12: "<f8", 16: "<u8"}.get(int(kind), "u1"))
        inline = number.itemsize * count <= (8 if big else 4)
        tags[int(tag)] = np.frombuffer(data, number, count, entry + (12 if big else 8) if inline else value)
    columns, rows, bits, predictor, across, down = (int(tags[tag][0]) for tag in (256, 257, 258, 317, 322, 323))
    number = np.dtype("<i4" if predictor == 2 else f"<f{bits // 8}")
    grid = np.empty((rows, columns), number)
    for i, (at, n) in enumerate(zip(tags[324].tolist(), tags[325].tolist())):
        tile = np.frombuffer(zlib.decompress(data[at:at + n]), "u1").reshape(down, -1)
        if predictor == 2:
            tile = np.cumsum(tile.view("<i4"), axis=1, dtype="<i4")
        else:  # planes of bytes, the highest first
            planes = np.cumsum(tile, axis=1, dtype="u1").reshape(down, number.itemsize, across)
            tile = np.ascontiguousarray(planes[:, ::-1].transpose(0, 2, 1)).view(number)[..., 0]
        y, x = (k * step for k, step in zip(divmod(i, -(-columns // across)), (down, across)))
        part = grid[y:y + down, x:x + across]
        part[...] = tile[:part.shape[0], :part.shape[1]]
    if predictor != 2 and 42113 in tags:
        grid[grid == float(tags[42113].tobytes().rstrip(b"\0"))] = np.nan
    return grid
