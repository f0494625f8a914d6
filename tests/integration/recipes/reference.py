"""What a stream holds, computed again from the definitions (docs/reference/spec.md): draws and order by Philox4x32-10 and
XXH3 over canonical bytes, all other steps by DuckDB. Nothing here is shared with the loader's code."""
import ctypes
import ctypes.util
import struct

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
    """A tag byte and a fixed form a type: null, integer, float, text, bool."""
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
    """Whether a row that draws in a `sample` step stays; `values`: of its `by` columns, None without."""
    salt, when = step["name"], epoch if step.get("redraw") == "each_epoch" else None
    if values is None:
        bits = philox(seed, counter("draw", salt, when, path), row)
    else:
        bits = philox(seed, counter("draw", salt, when, *values), 0)
    return unit(bits) < step["keep"]


def sequence(splits, kept, batch, seed, epoch):
    """The micro-batches of an epoch: lists of (file, row). `splits`: (file number, path, first row, rows) in file order;
    `kept`: the (file, row) that leave the recipe; `batch`: micro_rows, segment_splits, shuffle, order."""
    order = list(splits)
    if batch["order"] == "permuted":
        order.sort(key=lambda s: philox(seed, counter("split", "", epoch, s[1]), s[2]))
    batches, rest, size = [], [], batch["micro_rows"]
    for at in range(0, len(order), batch["segment_splits"]):
        rows = []
        for file, path, first, count in order[at:at + batch["segment_splits"]]:
            key = counter("row", "", epoch, path)
            rows += [(philox(seed, key, row) if batch["shuffle"] == "rows" else 0, file, row)
                     for row in range(first, first + count) if (file, row) in kept]
        if batch["shuffle"] == "rows":
            rows.sort()
        rows = [(file, row) for _, file, row in rows]
        whole = len(rows) // size * size
        batches += [rows[i:i + size] for i in range(0, whole, size)]
        rest += rows[whole:]
        if len(rest) >= size:
            batches.append(rest[:size])
            rest = rest[size:]
    return batches + ([rest] if rest else [])


def order_hash(epochs):
    """`epochs`: by epoch the micro-batches of sequence()."""
    total = 0
    for epoch, batches in enumerate(epochs):
        for number, rows in enumerate(batches):
            data = struct.pack("<IQ", epoch, number) + b"".join(struct.pack("<IQ", *row) for row in rows)
            total += xxh3_128(data)
    return "%032x" % (total & MASK128)
