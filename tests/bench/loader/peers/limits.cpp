// Raw limits of this machine and of these files: how far a plain scan is from what the hardware
// allows, and where the time goes.
//
//   limits DIR [--repeats N] [--floor] [--json]
//
//   --repeats N  runs of each line (3); the best counts, of the batches line the median
//   --floor      only page decompression of all columns: the floor that no reader of these files
//   passes
//   --json       one JSON line on stdout, the text on stderr
//
// Prints memcpy, page cache read, and for each column class the time of these ways to decode it on
// one thread:
//   arrow    parquet::arrow record batches of 16,384 rows
//   record   parquet::internal::RecordReader, 16,384 records at a time, buffers reused
//   typed    parquet::TypedColumnReader::ReadBatch into buffers allocated once (levels and values)
//   dict     the same with ReadBatchWithDictionary: 32 bit dictionary indices instead of values
//   pages    PageReader only: page headers and decompression, the floor for any reader of the file
//   hand     PageReader and the decoder of page_decoder.h, straight into reused buffers
//   hand+k   the same, list values stored once for equal neighbouring lists ("lists" only)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>

#include "page_decoder.h"

namespace {

using namespace limits;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

template <class T>
T get(arrow::Result<T> r) {
    if (!r.ok()) {
        std::fprintf(stderr, "limits: %s\n", r.status().ToString().c_str());
        std::exit(1);
    }
    return std::move(r).ValueUnsafe();
}

double best(int repeats, const std::function<void()>& f) {
    double b = 1e30;
    f();
    for (int i = 0; i < repeats; i++) {
        const double t = now();
        f();
        b = std::min(b, now() - t);
    }
    return b;
}

// Median, minimum and maximum of 2 * repeats + 1 runs.
struct Spread {
    double median, least, most;
};
Spread spread(int repeats, const std::function<void()>& f) {
    std::vector<double> t;
    f();
    for (int i = 0; i < 2 * repeats + 1; i++) {
        const double t0 = now();
        f();
        t.push_back(now() - t0);
    }
    std::sort(t.begin(), t.end());
    return {t[t.size() / 2], t.front(), t.back()};
}

// The ways to read.

struct Files {
    std::vector<std::string> paths;
    std::vector<std::shared_ptr<parquet::FileMetaData>> meta;
};

std::vector<int> leaves(const parquet::FileMetaData& m, char kind) {
    std::vector<int> out;
    for (int i = 0; i < m.num_columns(); i++) {
        const std::string n = m.schema()->GetColumnRoot(i)->name();
        const char k = n[0] == 'd' ? 'd' : n[0] == 'h' ? 'h' : n == "label" ? 'l' : 's';
        if (k == kind || (kind == 'a' && k != 'l'))
            out.push_back(i);
    }
    return out;
}

void each_column(
    const Files& f, char kind,
    const std::function<void(parquet::RowGroupReader&, int, bool dense, bool list)>& use) {
    for (size_t i = 0; i < f.paths.size(); i++) {
        auto reader =
            parquet::ParquetFileReader::Open(get(arrow::io::ReadableFile::Open(f.paths[i])),
                                             parquet::default_reader_properties(), f.meta[i]);
        const auto cols = leaves(*f.meta[i], kind);
        for (int g = 0; g < f.meta[i]->num_row_groups(); g++) {
            reader->PreBuffer({g}, cols, arrow::io::IOContext(),
                              arrow::io::CacheOptions::Defaults());
            auto group = reader->RowGroup(g);
            for (int c : cols) {
                auto* d = f.meta[i]->schema()->Column(c);
                use(*group, c, d->physical_type() == parquet::Type::FLOAT,
                    d->max_repetition_level() > 0);
            }
        }
    }
}

void by_arrow(const Files& f, char kind, int read_rows) {
    for (size_t i = 0; i < f.paths.size(); i++) {
        parquet::ArrowReaderProperties p(false);
        p.set_batch_size(read_rows);
        p.set_pre_buffer(true);
        auto raw =
            parquet::ParquetFileReader::Open(get(arrow::io::ReadableFile::Open(f.paths[i])),
                                             parquet::default_reader_properties(), f.meta[i]);
        auto r =
            get(parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(raw), p));
        std::vector<int> groups;
        for (int g = 0; g < f.meta[i]->num_row_groups(); g++)
            groups.push_back(g);
        auto rb = get(r->GetRecordBatchReader(groups, leaves(*f.meta[i], kind)));
        for (std::shared_ptr<arrow::RecordBatch> b; rb->ReadNext(&b).ok() && b;) {
        }
    }
}

void by_record(const Files& f, char kind) {
    each_column(f, kind, [](parquet::RowGroupReader& g, int c, bool, bool) {
        auto r = g.RecordReader(c);
        while (r->HasMoreData()) {
            r->Reset();
            r->Reserve(16384);
            if (r->ReadRecords(16384) == 0)
                break;
        }
    });
}

template <class Type>
void typed(parquet::ColumnReader& r, std::vector<int16_t>& def, std::vector<int16_t>& rep,
           void* values) {
    auto& t = static_cast<parquet::TypedColumnReader<Type>&>(r);
    while (t.HasNext()) {
        int64_t n;
        t.ReadBatch(65536, def.data(), rep.data(), static_cast<typename Type::c_type*>(values), &n);
    }
}

void by_typed(const Files& f, char kind, Buffers& b) {
    std::vector<int16_t> def(1 << 17), rep(1 << 17);
    each_column(f, kind, [&](parquet::RowGroupReader& g, int c, bool dense, bool) {
        auto r = g.Column(c);
        if (dense)
            typed<parquet::FloatType>(*r, def, rep, b.f32.data());
        else
            typed<parquet::Int64Type>(*r, def, rep, b.i64.data());
    });
}

template <class Type>
bool typed_dictionary(parquet::ColumnReader& r, std::vector<int16_t>& def,
                      std::vector<int16_t>& rep, int32_t* index) {
    if (r.GetExposedEncoding() != parquet::ExposedEncoding::DICTIONARY)
        return false;
    auto& t = static_cast<parquet::TypedColumnReader<Type>&>(r);
    const typename Type::c_type* dict;
    int32_t dict_len;
    while (t.HasNext()) {
        int64_t n;
        t.ReadBatchWithDictionary(65536, def.data(), rep.data(), index, &n, &dict, &dict_len);
    }
    return true;
}

std::pair<int, int> by_dictionary(const Files& f, char kind, Buffers& b) {
    std::vector<int16_t> def(1 << 17), rep(1 << 17);
    int yes = 0, no = 0;
    each_column(f, kind, [&](parquet::RowGroupReader& g, int c, bool dense, bool) {
        auto r = g.ColumnWithExposeEncoding(c, parquet::ExposedEncoding::DICTIONARY);
        auto* index = reinterpret_cast<int32_t*>(b.index.data());
        const bool ok = dense ? typed_dictionary<parquet::FloatType>(*r, def, rep, index)
                              : typed_dictionary<parquet::Int64Type>(*r, def, rep, index);
        ok ? yes++ : no++;
        if (!ok) {
            if (dense)
                typed<parquet::FloatType>(*r, def, rep, b.f32.data());
            else
                typed<parquet::Int64Type>(*r, def, rep, b.i64.data());
        }
    });
    return {yes, no};
}

int64_t by_pages(const Files& f, char kind) {
    int64_t bytes = 0;
    each_column(f, kind, [&](parquet::RowGroupReader& g, int c, bool, bool) {
        auto pages = g.GetColumnPageReader(c);
        while (auto p = pages->NextPage())
            bytes += p->size();
    });
    return bytes;
}

int64_t by_hand(const Files& f, char kind, Buffers& b, bool unique, uint64_t* check) {
    int64_t stored = 0;
    uint64_t sum = 0;
    each_column(f, kind, [&](parquet::RowGroupReader& g, int c, bool dense, bool list) {
        auto pages = g.GetColumnPageReader(c);
        const bool nullable = g.metadata()->schema()->Column(c)->max_definition_level() > 0;
        if (list) {
            int64_t one = 0;
            hand_list(*pages, b, unique, &one, b.i64.data(), b.offsets.data(), b.inverse.data());
            stored += one;
            if (check)
                for (int64_t i = 0; i < one; i++)
                    sum += uint64_t(b.i64[i]);
        } else if (dense) {
            const int64_t n = hand_flat<float>(*pages, b, b.f32.data(), nullable);
            if (check) {
                double s = 0;
                for (int64_t i = 0; i < n; i++)
                    s += b.f32[i];
                sum += uint64_t(int64_t(s * 16));
            }
        } else {
            const int64_t n = hand_flat<int64_t>(*pages, b, b.i64.data() + 0, nullable);
            if (check)
                for (int64_t i = 0; i < n; i++)
                    sum += uint64_t(b.i64[i]);
        }
    });
    if (check)
        *check = sum;
    return stored;
}

// Everything for training from one row group: what `hand+k` decodes, laid out as batches. dense is
// row-major, so 4096 rows of it are one block of memory; ids are vectors; a list column is (stored
// values, end of each row's list, length from the offsets). A batch is a view.
struct Group {
    std::vector<float> column = std::vector<float>(100 * 65536),
                       dense = std::vector<float>(100 * 65536);
    std::vector<int64_t> ids = std::vector<int64_t>(53 * 65536);
    std::vector<int32_t> label = std::vector<int32_t>(65536);
    struct List {
        std::vector<int64_t> values = std::vector<int64_t>(8 << 20);
        std::vector<int32_t> offsets = std::vector<int32_t>(65537),
                             ends = std::vector<int32_t>(65536);
        int64_t stored = 0;
    };
    std::vector<List> lists = std::vector<List>(10);
};

// T0 by hand on one thread. With `consume` the stored bytes are summed as a consumer would. Returns
// the sum of all list values of all rows if `check`.
uint64_t by_batches(const Files& f, Buffers& b, Group& o, bool consume, bool check, double* sink) {
    uint64_t lists_sum = 0, idsum = 0;
    for (size_t i = 0; i < f.paths.size(); i++) {
        auto reader =
            parquet::ParquetFileReader::Open(get(arrow::io::ReadableFile::Open(f.paths[i])),
                                             parquet::default_reader_properties(), f.meta[i]);
        std::vector<int> all(f.meta[i]->num_columns());
        for (size_t c = 0; c < all.size(); c++)
            all[c] = int(c);
        for (int g = 0; g < f.meta[i]->num_row_groups(); g++) {
            reader->PreBuffer({g}, all, arrow::io::IOContext(),
                              arrow::io::CacheOptions::Defaults());
            auto group = reader->RowGroup(g);
            const int64_t n = group->metadata()->num_rows();
            int nd = 0, ns = 0, nl = 0;
            for (int c : all) {
                auto* d = f.meta[i]->schema()->Column(c);
                auto pages = group->GetColumnPageReader(c);
                const bool nullable = d->max_definition_level() > 0;
                if (d->physical_type() == parquet::Type::FLOAT)
                    hand_flat<float>(*pages, b, o.column.data() + 65536 * nd++, nullable);
                else if (d->physical_type() == parquet::Type::INT32)
                    hand_flat<int32_t>(*pages, b, o.label.data(), nullable);
                else if (d->max_repetition_level() == 0)
                    hand_flat<int64_t>(*pages, b, o.ids.data() + 65536 * ns++, nullable);
                else {
                    auto& l = o.lists[nl++];
                    l.stored = 0;
                    hand_list(*pages, b, true, &l.stored, l.values.data(), l.offsets.data(),
                              l.ends.data());
                }
            }
            for (int64_t r0 = 0; r0 < n; r0 += 16)  // 16 rows by 100 columns each time
                for (int j = 0; j < nd; j++) {
                    const float* src = o.column.data() + 65536 * j + r0;
                    float* dst = o.dense.data() + r0 * nd + j;
                    const int64_t k = std::min<int64_t>(16, n - r0);
                    for (int64_t r = 0; r < k; r++)
                        dst[r * nd] = src[r];
                }
            if (consume) {
                double acc[100] = {};
                for (int64_t r = 0; r < n; r++)
                    for (int j = 0; j < 100; j++)
                        acc[j] += o.dense[r * 100 + j];
                for (double x : acc)
                    *sink += x;
                for (int j = 0; j < ns; j++)
                    for (int64_t r = 0; r < n; r++)
                        idsum += uint64_t(o.ids[65536 * j + r]);
                for (auto& l : o.lists) {
                    for (int64_t k = 0; k < l.stored; k++)
                        idsum += uint64_t(l.values[k]);
                    for (int64_t r = 0; r < n; r++)
                        idsum += uint64_t(l.ends[r]) + uint64_t(l.offsets[r]);
                }
                for (int64_t r = 0; r < n; r++)
                    idsum += o.label[r];
            }
            if (check)
                for (auto& l : o.lists)
                    for (int64_t r = 0; r < n; r++)
                        for (int64_t k = l.ends[r] - (l.offsets[r + 1] - l.offsets[r]);
                             k < l.ends[r]; k++)
                            lists_sum += uint64_t(l.values[k]);
        }
    }
    *sink += double(idsum & 1023);
    return lists_sum;
}

uint64_t arrow_check(const Files& f, char kind) {
    uint64_t sum = 0;
    for (size_t i = 0; i < f.paths.size(); i++) {
        parquet::ArrowReaderProperties p(false);
        p.set_batch_size(65536);
        auto raw =
            parquet::ParquetFileReader::Open(get(arrow::io::ReadableFile::Open(f.paths[i])),
                                             parquet::default_reader_properties(), f.meta[i]);
        auto r =
            get(parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(raw), p));
        for (int g = 0; g < f.meta[i]->num_row_groups(); g++) {
            auto rb = get(r->GetRecordBatchReader({g}, leaves(*f.meta[i], kind)));
            for (std::shared_ptr<arrow::RecordBatch> b; rb->ReadNext(&b).ok() && b;)
                for (auto& col : b->columns()) {
                    if (col->type_id() == arrow::Type::LIST) {
                        auto v = std::static_pointer_cast<arrow::Int64Array>(
                            std::static_pointer_cast<arrow::ListArray>(col)
                                ->Flatten()
                                .ValueOrDie());
                        for (int64_t k = 0; k < v->length(); k++)
                            sum += uint64_t(v->Value(k));
                    } else if (col->type_id() == arrow::Type::FLOAT) {
                        auto v = std::static_pointer_cast<arrow::FloatArray>(col);
                        double s = 0;
                        for (int64_t k = 0; k < v->length(); k++)
                            if (v->IsValid(k))
                                s += v->Value(k);
                        sum += uint64_t(int64_t(s * 16));
                    } else {
                        auto v = std::static_pointer_cast<arrow::Int64Array>(col);
                        for (int64_t k = 0; k < v->length(); k++)
                            sum += uint64_t(v->Value(k));
                    }
                }
        }
    }
    return sum;
}

// The same figures as the text, for programs.
struct Json {
    std::string text = "{\"system\": \"limits\"";
    void add(const char* key, double value) {
        char b[96];
        std::snprintf(b, sizeof b, "%s\"%s\": %.6g", text.back() == '{' ? "" : ", ", key, value);
        text += b;
    }
    void open(const char* key) { text += std::string(", \"") + key + "\": {"; }
    void close() { text += "}"; }
};

std::FILE* out = stdout;

constexpr int64_t kCopy = int64_t(1) << 30, kHot = int64_t(256) << 10;

void memory(const Files& f, int64_t rows, int repeats, Json& json) {
    std::vector<char> a(kCopy, 1), b(kCopy, 2);
    const double cold = best(repeats, [&] { std::memcpy(a.data(), b.data(), kCopy); });
    const double hot = best(repeats, [&] {
        for (int i = 0; i < 1000; i++) {
            std::memcpy(a.data(), b.data(), kHot);
            asm volatile("" ::: "memory");
        }
    });
    const double fresh = best(1, [&] {
        char* p = static_cast<char*>(std::aligned_alloc(4096, kCopy));
        for (int64_t i = 0; i < kCopy; i += 4096)
            p[i] = 1;
        asm volatile("" : : "r"(p) : "memory");
        std::free(p);
    });
    int64_t bytes = 0;
    const double cache = best(repeats, [&] {
        bytes = 0;
        for (auto& p : f.paths) {
            const int fd = open(p.c_str(), O_RDONLY);
            for (ssize_t k; (k = read(fd, b.data(), 1 << 20)) > 0;)
                bytes += k;
            close(fd);
        }
    });
    std::fprintf(out,
                 "memcpy, 1 thread: 1 GiB %.1f GB/s, 256 KiB hot %.1f GB/s; fresh memory %.1f "
                 "GB/s; page cache %.2f GB/s (%.0f bytes per row)\n",
                 kCopy / cold / 1e9, 1000.0 * kHot / hot / 1e9, kCopy / fresh / 1e9,
                 bytes / cache / 1e9, double(bytes) / rows);
    json.add("memcpy_gb_per_second", kCopy / cold / 1e9);
    json.add("memcpy_hot_gb_per_second", 1000.0 * kHot / hot / 1e9);
    json.add("fresh_gb_per_second", kCopy / fresh / 1e9);
    json.add("page_cache_gb_per_second", bytes / cache / 1e9);
}

struct Part {
    char kind;
    const char* name;
    double columns;
};
constexpr Part kParts[] = {{'d', "dense", 100}, {'s', "ids", 53}, {'h', "lists", 10}};

// Seconds of the ways that count for the totals.
struct Times {
    double arrow = 0, record = 0, typed = 0, pages = 0, hand = 0, once = 0, decoded = 0;
};

Times one_class(const Files& f, const Part& p, int64_t rows, int repeats, Buffers& b, Json& json) {
    Times s;
    int64_t compressed = 0, raw = 0, values = 0;
    for (auto& m : f.meta)
        for (int g = 0; g < m->num_row_groups(); g++)
            for (int c : leaves(*m, p.kind)) {
                auto cc = m->RowGroup(g)->ColumnChunk(c);
                compressed += cc->total_compressed_size(), raw += cc->total_uncompressed_size(),
                    values += cc->num_values();
            }
    s.decoded =
        double(values * (p.kind == 'd' ? 4 : 8)) + (p.kind == 'h' ? rows * p.columns * 4 : 0);
    std::fprintf(out,
                 "%s: %.0f columns, %.1f MB compressed, %.1f MB pages, %.1f MB decoded (%.0f bytes "
                 "per row)\n",
                 p.name, p.columns, compressed / 1e6, raw / 1e6, s.decoded / 1e6, s.decoded / rows);
    json.open(p.name);
    json.add("bytes_per_row", s.decoded / rows);
    auto line = [&](const char* way, double t, const char* more = "") {
        std::fprintf(out, "  %-8s %.3f s  %7.2f ns per value  %6.2f GB/s decoded  %8.0f rows/s%s\n",
                     way, t, t / values * 1e9, s.decoded / t / 1e9, rows / t, more);
        json.add(way, rows / t);
        return t;
    };
    s.arrow = line("arrow", best(repeats, [&] { by_arrow(f, p.kind, 16384); }));
    s.record = line("record", best(repeats, [&] { by_record(f, p.kind); }));
    s.typed = line("typed", best(repeats, [&] { by_typed(f, p.kind, b); }));
    line("dict", best(repeats, [&] { by_dictionary(f, p.kind, b); }));
    s.pages = line("pages", best(repeats, [&] { by_pages(f, p.kind); }));
    uint64_t mine = 0;
    by_hand(f, p.kind, b, false, &mine);
    const bool ok = mine == arrow_check(f, p.kind);
    s.hand = line("hand", best(repeats, [&] { by_hand(f, p.kind, b, false, nullptr); }),
                  ok ? "  (same values as arrow)" : "  (WRONG VALUES)");
    s.once = p.kind == 'h'
                 ? line("once", best(repeats, [&] { by_hand(f, p.kind, b, true, nullptr); }))
                 : s.hand;
    json.close();
    return s;
}

void all_classes(const Files& f, int64_t rows, int repeats, Json& json) {
    Buffers b;
    Times t;
    for (auto& p : kParts) {
        const Times s = one_class(f, p, rows, repeats, b, json);
        t.arrow += s.arrow, t.record += s.record, t.typed += s.typed, t.pages += s.pages,
            t.hand += s.hand, t.once += s.once, t.decoded += s.decoded;
    }
    Group o;
    double sink = 0;
    const bool ok = by_batches(f, b, o, false, true, &sink) == arrow_check(f, 'h');
    const Spread c = spread(repeats, [&] { by_batches(f, b, o, true, false, &sink); });
    std::fprintf(out,
                 "batches by hand (T0, lists stored once, a consumer that sums every stored byte): "
                 "median %.3f s (%.3f-%.3f) %.0f rows/s %s\n",
                 c.median, c.least, c.most, rows / c.median,
                 ok ? "(same list values as arrow)" : "(WRONG VALUES)");
    std::fprintf(out,
                 "all columns, one thread, rows/s: arrow %.0f, record %.0f, typed %.0f, hand %.0f, "
                 "hand with lists stored once %.0f, pages only %.0f\n",
                 rows / t.arrow, rows / t.record, rows / t.typed, rows / t.hand, rows / t.once,
                 rows / t.pages);
    json.open("all");
    json.add("bytes_per_row", t.decoded / rows);
    json.add("arrow", rows / t.arrow), json.add("record", rows / t.record),
        json.add("typed", rows / t.typed);
    json.add("hand", rows / t.hand), json.add("once", rows / t.once),
        json.add("pages", rows / t.pages);
    json.close();
    json.add("prototype_rows_per_second", rows / c.median);
    json.add("floor_rows_per_second", rows / t.pages);
}

int usage(std::FILE* to) {
    std::fprintf(to,
                 "usage: limits DIR [--repeats N] [--floor] [--json]\n"
                 "How fast this machine can copy, decompress and decode the files of DIR "
                 "(make_reference.py), on one thread.\n"
                 "  --repeats N  runs of each line (3)\n  --floor      only page decompression of "
                 "all columns\n  --json       one JSON line on stdout, the text on stderr\n");
    return to == stdout ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
    std::string dir;
    int repeats = 3;
    bool floor = false, as_json = false;
    for (int i = 1; i < argc; i++) {
        const std::string k = argv[i];
        if (k == "-h" || k == "--help")
            return usage(stdout);
        if (k == "--floor")
            floor = true;
        else if (k == "--json")
            as_json = true;
        else if (k == "--repeats" && i + 1 < argc)
            repeats = std::max(1, std::atoi(argv[++i]));
        else if (k[0] != '-' && dir.empty())
            dir = k;
        else
            return usage(stderr);
    }
    if (dir.empty())
        return usage(stderr);
    if (as_json)
        out = stderr;
    if (!arrow::compute::Initialize().ok())
        return 1;
    Files f;
    std::error_code none;
    for (auto& e : std::filesystem::directory_iterator(dir, none))
        if (e.path().filename().string().rfind("part-", 0) == 0)
            f.paths.push_back(e.path());
    if (f.paths.empty())
        return std::fprintf(stderr, "limits: no part-*.parquet in %s\n", dir.c_str()), 1;
    std::sort(f.paths.begin(), f.paths.end());
    int64_t rows = 0;
    for (auto& p : f.paths)
        f.meta.push_back(parquet::ParquetFileReader::OpenFile(p)->metadata()),
            rows += f.meta.back()->num_rows();
    Json json;
    if (floor) {
        double t = 0;
        for (auto& p : kParts)
            t += best(repeats, [&] { by_pages(f, p.kind); });
        std::fprintf(out, "pages only, all columns, one thread: %.0f rows/s\n", rows / t);
        json.add("floor_rows_per_second", rows / t);
    } else {
        memory(f, rows, repeats, json);
        all_classes(f, rows, repeats, json);
    }
    json.add("rows_scanned", double(rows));
    if (as_json)
        std::printf("%s}\n", json.text.c_str());
}
