"""The content of a stream, computed from the definitions (docs/reference/spec.md): draws and order with Philox4x32-10 and
XXH3 over canonical bytes, all other steps with DuckDB. It shares no code with the loader."""
import ctypes
import ctypes.util
import itertools
import re
import struct

DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[-+][0-9]{2}(:?[0-9]{2})?)?"
MASK32, MASK64, MASK128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def _library():
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    library.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    library.XXH3_128bits.restype = _Hash128
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return library


_XXH = _library()


def xxh3(data, seed=0):
    return _XXH.XXH3_64bits_withSeed(data, len(data), seed)


def xxh3_128(data):
    value = _XXH.XXH3_128bits(data, len(data))
    return value.high << 64 | value.low


def philox(seed, low, high):
    """The first 64 bits of Philox4x32-10 with key `seed` and counter (low, high)."""
    c = [low & MASK32, low >> 32, high & MASK32, high >> 32]
    k0, k1 = seed & MASK32, seed >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & MASK32, (a >> 32) ^ c[3] ^ k1, a & MASK32]
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
    return c[0] | c[1] << 32


def canonical(value):
    """A tag byte, and a fixed form for each type: null, integer, float, text, bool."""
    if value is None:
        return b"\0"
    if isinstance(value, bool):
        return bytes([4, value])
    if isinstance(value, int):
        return b"\1" + struct.pack("<Q", value & MASK64)
    if isinstance(value, float):
        bits = 0x7FF8000000000000 if value != value else struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]
        return b"\2" + struct.pack("<Q", bits)
    data = value.encode()
    return b"\3" + struct.pack("<Q", len(data)) + data


def counter(purpose, salt, epoch, *rest):
    return xxh3(b"".join(map(canonical, (purpose, salt, epoch, *rest))))


def unit(bits):
    return (bits >> 11) * 2.0**-53


def hashed_id(value, buckets, seed=0):
    return 0 if value is None else 1 + xxh3(canonical(value), seed) % (buckets - 1)


def stays(seed, step, epoch, path, row, values):
    """Whether a row that draws in a `sample` step stays; `values`: of the step's `by` columns, or None."""
    salt, when = step["name"], epoch if step.get("redraw") == "each_epoch" else None
    if values is None:
        bits = philox(seed, counter("draw", salt, when, path), row)
    else:
        bits = philox(seed, counter("draw", salt, when, *values), 0)
    return unit(bits) < step["keep"]


def segments(splits, batch, seed, epoch):
    """(first segment of its partition, splits) of each segment. `splits`: (file number, path, first row, rows, partition) in
    file order; partitions matter only if the order goes by a column."""
    is_by = isinstance(batch["order"], dict)
    order = list(splits)
    if batch["order"] != "as_is":
        order.sort(key=lambda s: (s[4] if is_by else 0, philox(seed, counter("split", "", epoch, s[1]), s[2])))
    parts = [list(same) for _, same in itertools.groupby(order, key=lambda s: s[4] if is_by else 0)]
    made = []
    for part in parts:
        begin = len(made)
        made += [(begin, part[at:at + batch["segment_splits"]]) for at in range(0, len(part), batch["segment_splits"])]
    return made


def shuffled(splits, kept, batch, seed, epoch, requests):
    """The kept rows of a segment in their order. `requests`: the first row of its request for each (file, row)."""
    rows = []
    for file, path, first, count, _ in splits:
        key = counter("row", "", epoch, path)
        for row in range(first, first + count):
            begin = max(first, requests[file, row]) if batch["shuffle"] == "requests" else row
            if (file, row) in kept:
                rows.append((0 if batch["shuffle"] == "none" else philox(seed, key, begin), file, row))
    if batch["shuffle"] != "none":
        rows.sort()
    return [(file, row) for _, file, row in rows]


def sequence(splits, kept, batch, seed, epoch, requests=None):
    """The micro-batches of an epoch: lists of (file, row). `kept`: the (file, row) that pass the recipe; `batch`:
    micro_rows, segment_splits, shuffle, order. Rows that an earlier partition has left come before all other rows of a
    segment."""
    batches, rest, size = [], [], batch["micro_rows"]  # rest: (segment, row)
    for number, (begin, of_segment) in enumerate(segments(splits, batch, seed, epoch)):
        rows = shuffled(of_segment, kept, batch, seed, epoch, requests)
        if rest and rest[0][0] < begin and len(rest) + len(rows) >= size:
            lead = size - len(rest)
            batches.append([row for _, row in rest] + rows[:lead])
            rest, rows = [], rows[lead:]
        whole = len(rows) // size * size
        batches += [rows[i:i + size] for i in range(0, whole, size)]
        rest += [(number, row) for row in rows[whole:]]
        if len(rest) >= size:
            batches.append([row for _, row in rest[:size]])
            rest = rest[size:]
    return batches + ([[row for _, row in rest]] if rest else [])


def request_starts(values):
    """The first row of each row's request. A request is a run of equal values; each null is a request."""
    starts = []
    for row, value in enumerate(values):
        goes_on = row > 0 and value is not None and values[row - 1] == value
        starts.append(starts[-1] if goes_on else row)
    return starts


IS_WHOLE = re.compile(r"-?[0-9]+").fullmatch
IS_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?").fullmatch
IS_DAY = re.compile(DATE).fullmatch
IS_TIME = re.compile(DATE + TIME).fullmatch


def csv_type(texts):
    """The type of a CSV column whose values in all files, nulls left out, are `texts`; None without values. See docs/guides/sources.md."""
    texts = [text.strip(" \t") for text in texts]
    whole, number, words, days, times = [], False, 0, 0, 0
    for text in texts:
        if IS_WHOLE(text):
            whole.append(int(text))
        elif IS_NUMBER(text):
            number = True
        elif IS_DAY(text):
            days += 1
        elif IS_TIME(text):
            times += 1
        elif text.lower() in ("true", "false"):
            words += 1
        else:
            return "string"
    numbers = len(texts) - words - days - times
    if not texts or sum((numbers > 0, words > 0, days + times > 0)) > 1:
        return "string" if texts else None
    if numbers and number:
        return "string" if any(abs(w) > 2**53 and int(float(w)) != w for w in whole) else "double"
    if numbers:
        fits = all(-2**63 <= w < 2**63 for w in whole)
        return "int64" if fits else "uint64" if all(0 <= w < 2**64 for w in whole) else "string"
    return "bool" if words else "timestamp" if times else "date"


def has_bad_values(texts):
    """Whether a CSV column of these values, nulls left out, is one of numbers or times with a few bad values. See docs/guides/sources.md."""
    if csv_type(texts) != "string":
        return False
    good = {"int64": 0, "uint64": 0, "double": 0, "date": 0, "timestamp": 0}
    for text in (text.strip(" \t") for text in texts):
        if IS_WHOLE(text):
            value = int(text)
            good["int64"] += -2**63 <= value < 2**63
            good["uint64"] += 0 <= value < 2**64
            good["double"] += -2**63 <= value < 2**63 and int(float(value)) == value
        elif IS_NUMBER(text):
            good["double"] += 1
        elif IS_DAY(text):
            good["date"] += 1
            good["timestamp"] += 1
        elif IS_TIME(text):
            good["timestamp"] += 1
    most = max(good.values())
    return most >= 20 and len(texts) - most <= max(3, most // 100)


def order_hash(epochs):
    """The order hash. `epochs`: the micro-batches of sequence() by epoch."""
    total = 0
    for epoch, batches in enumerate(epochs):
        for number, rows in enumerate(batches):
            ids = xxh3_128(b"".join(struct.pack("<IQ", *row) for row in rows))
            total += xxh3_128(struct.pack("<IQQQ", epoch, number, ids & 2**64 - 1, ids >> 64))
    return "%032x" % (total & MASK128)
