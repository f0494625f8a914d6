#!/usr/bin/env python3
"""What the table of R15 or R15s holds, as a checksum line like the batches': rows, the sum of the whole numbers, of the texts' bytes, of the floats.

  recipe_table.py DIR     reads DIR/*.parquet in the order of their names; with --sorted it must be in the order of `user`
"""
import argparse
import glob
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def text_bytes(array):
    """The sum of all bytes of the texts."""
    first, last = (np.frombuffer(array.buffers()[1], np.int64)[array.offset + i] for i in (0, len(array)))
    return int(np.frombuffer(array.buffers()[2], np.uint8)[first:last].sum(dtype=np.int64))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--sorted", action="store_true")
    args = p.parse_args()
    table = pa.concat_tables([pq.read_table(f) for f in sorted(glob.glob(os.path.join(args.folder, "*.parquet")))])
    ids, texts, floats = 0, 0, 0.0
    for j, name in enumerate(sorted(table.column_names)):
        column = table[name]
        kind = column.type
        if pa.types.is_floating(kind):
            floats += (j + 1) * pc.sum(column.fill_null(0)).as_py()
        elif pa.types.is_large_string(kind) or pa.types.is_string(kind) or pa.types.is_string_view(kind):
            texts += (j + 1) * text_bytes(column.cast(pa.large_string()).combine_chunks())
        else:
            ids += (j + 1) * int(column.cast(pa.int64()).to_numpy().sum())
    if args.sorted:
        user = table["user"].combine_chunks()
        if not pc.all(pc.less_equal(user.slice(0, len(user) - 1), user.slice(1))).as_py():
            raise SystemExit("the table is not sorted by user")
    print(json.dumps({"checksum": f"{table.num_rows}:0:{texts}:{ids & (1 << 64) - 1:016x}:{0:016x}:{floats:.1f}"}))


if __name__ == "__main__":
    main()
