#!/usr/bin/env python3
"""Files with faults of other writers: `millrace-loader` reads what can be read, and reports what cannot."""
import base64
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from loader_case import LoaderCase  # noqa: E402
try:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import pyarrow.parquet.encryption as pe
    MISSING = ""
except ImportError as error:
    MISSING = f"packaging/setup --tests was not run: {error}"


def varint(value):
    """A number in Thrift's compact protocol."""
    value, out = 2 * value if value >= 0 else -2 * value - 1, b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


@unittest.skipIf(MISSING, MISSING)
class OtherWriters(LoaderCase):
    def setUp(self):
        super().setUp()
        self.file = self.place / "f.parquet"
        self.table = pa.table({"k": pa.array(range(6), pa.int64()), "s": ["a", "b", "a", "b", "a", "c"]})

    def table_of(self):
        return self.stream({"dataset": {"path": "f.parquet"}, "features": {"carry": ["k", "s"]}},
                           "--sink", "parquet", "--output", "out", "--force", code=None)

    def rewrite(self, *changes):
        """Replaces bytes by others of the same length; each old value must be there exactly once."""
        data = self.file.read_bytes()
        for old, new in changes:
            self.assertEqual(data.count(old), 1, old)
            self.assertEqual(len(old), len(new))
            data = data.replace(old, new)
        self.file.write_bytes(data)

    def assert_is_read(self):
        done = self.table_of()
        self.assertEqual(done.returncode, 0, done.stderr)
        made = pq.read_table(self.place / "out").select(["k", "s"])
        self.assertEqual(made.to_pydict(), self.table.to_pydict())

    def test_a_dictionary_whose_header_the_chunks_size_leaves_out(self):
        """As parquet-mr before 1.2.9 writes it (nation.dict-malformed.parquet of the public corpus)."""
        pq.write_table(self.table, self.file, use_dictionary=["s"], compression="none", write_statistics=False)
        column = pq.read_metadata(self.file).row_group(0).column(1)
        sizes = (column.total_uncompressed_size, column.total_compressed_size, column.data_page_offset)
        old = b"\x16" + b"\x16".join(map(varint, sizes[:2])) + b"\x26" + varint(sizes[2])
        new = b"\x16" + b"\x16".join(map(varint, (sizes[0], sizes[1] - 14))) + b"\x26" + varint(sizes[2])
        writer = pq.read_metadata(self.file).created_by.encode()
        self.rewrite((old, new), (writer, b"parquet-mr version 1.2.8 (build)".ljust(len(writer), b" ")[:len(writer)]))
        self.assertEqual(pq.read_metadata(self.file).row_group(0).column(1).total_compressed_size, sizes[1] - 14)
        self.assert_is_read()

    def test_a_footer_that_counts_no_rows_beside_row_groups_that_have_some(self):
        """As in repeated_no_annotation.parquet of the public corpus."""
        pq.write_table(self.table, self.file)
        self.rewrite((b"\x16" + varint(6) + b"\x19\x1c", b"\x16" + varint(0) + b"\x19\x1c"))
        self.assertEqual(pq.read_metadata(self.file).num_rows, 0)
        self.assert_is_read()

    def test_a_footer_that_counts_other_rows_is_refused(self):
        pq.write_table(self.table, self.file)
        self.rewrite((b"\x16" + varint(6) + b"\x19\x1c", b"\x16" + varint(5) + b"\x19\x1c"))
        done = self.table_of()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("corrupt: the footer counts 5 rows, its row groups 6", done.stderr)

    def test_encrypted_files_are_said_to_be_encrypted(self):
        class Keys(pe.KmsClient):
            def __init__(self, config):
                super().__init__()

            def wrap_key(self, key_bytes, master_key_identifier):
                return base64.b64encode(key_bytes)

            def unwrap_key(self, wrapped_key, master_key_identifier):
                return base64.b64decode(wrapped_key)

        for options in ({"plaintext_footer": True, "column_keys": {"c": ["s"]}}, {"plaintext_footer": False, "column_keys": {"c": ["k", "s"]}},
                        {"plaintext_footer": True, "uniform_encryption": True}):
            with self.subTest(**options):
                config = pe.EncryptionConfiguration(footer_key="f", **options)
                properties = pe.CryptoFactory(Keys).file_encryption_properties(pe.KmsConnectionConfig(), config)
                with pq.ParquetWriter(self.file, self.table.schema, encryption_properties=properties) as writer:
                    writer.write_table(self.table)
                done = self.table_of()
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("f.parquet", done.stderr)
                self.assertIn("encrypted", done.stderr)


if __name__ == "__main__":
    unittest.main()
