#pragma once
// A decoder of Parquet pages for the column classes of reference-164, written to see how far one
// can get: data pages V1, plain and dictionary encodings, lists without nulls. A measurement, not
// the product's decoder (that is backend/dataset).
//
// Threads: a caller owns its Buffers. Failure: a file that it does not handle ends the program with
// a sentence.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <immintrin.h>

#include <parquet/column_page.h>
#include <parquet/column_reader.h>

#include "bit_stream.h"

namespace limits {

struct Buffers {
    std::vector<uint32_t> index = std::vector<uint32_t>(8 << 20);
    std::vector<int64_t> i64 = std::vector<int64_t>(8 << 20);
    std::vector<float> f32 = std::vector<float>(1 << 20);
    std::vector<int32_t> offsets = std::vector<int32_t>(1 << 20);
    std::vector<uint8_t> dict = std::vector<uint8_t>(4 << 20);
    std::vector<int32_t> inverse = std::vector<int32_t>(1 << 20);
    std::vector<uint8_t> padded = std::vector<uint8_t>(8 << 20);
};

// Values of one data page section (dictionary indices or plain) to T[n]; returns the place after
// them.
template <class T>
void values_of(parquet::Encoding::type encoding, const uint8_t* p, const uint8_t* end, int64_t n,
               const T* dict, uint32_t* index, T* out) {
    if (encoding == parquet::Encoding::PLAIN) {
        std::memcpy(out, p, n * sizeof(T));
        return;
    }
    const int width = *p++;
    T* o = out;
    hybrid(
        p, end, width, n,
        [&](uint32_t v, int64_t k) {
            std::fill_n(o, k, dict[v]);
            o += k;
        },
        [&](const uint8_t* q, int64_t k) {
            for (int64_t a = 0; a < k;
                 a += 4096) {  // the indices of a block stay in the first-level cache
                const int64_t m = std::min<int64_t>(4096, k - a);
                unpack(q + a * width / 8, width, m, index);
                for (int64_t i = 0; i < m; i++)
                    o[a + i] = dict[index[i]];
            }
            o += k;
        });
}

template <class T>
int64_t hand_flat(parquet::PageReader& pages, Buffers& b, T* out, bool nullable) {
    int64_t rows = 0;
    const T* dict = reinterpret_cast<const T*>(b.dict.data());
    while (auto page = pages.NextPage()) {
        if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
            std::memcpy(b.dict.data(), page->data(), page->size());
            continue;
        }
        auto& d = static_cast<parquet::DataPageV1&>(*page);
        const uint8_t *p = d.data(), *end = p + d.size();
        const int64_t n = d.num_values();
        T* dst = out + rows;
        if (!nullable) {
            values_of(d.encoding(), p, end, n, dict, b.index.data(), dst);
        } else {
            uint32_t len;
            std::memcpy(&len, p, 4);
            const uint8_t *lev = p + 4, *val = p + 4 + len;
            // count the present values, then expand them into place (null is 0)
            thread_local std::vector<uint64_t> bitmap;
            bitmap.assign(n / 64 + 2, 0);
            int64_t at = 0, present = 0;
            bool all = true;
            hybrid(
                lev, val, 1, n,
                [&](uint32_t v, int64_t k) {
                    if (v) {
                        for (int64_t i = at; i < at + k; i++)
                            bitmap[i >> 6] |= 1ull << (i & 63);
                        present += k;
                    } else
                        all = false;
                    at += k;
                },
                [&](const uint8_t* q, int64_t k) {
                    all = false;
                    for (int64_t i = 0; i < k; i += 8) {
                        uint8_t byte = q[i / 8];
                        if (k - i < 8)
                            byte &= (1u << (k - i)) - 1;
                        present += __builtin_popcount(byte);
                        const int64_t bit = at + i;
                        bitmap[bit >> 6] |= uint64_t(byte) << (bit & 63);
                        if ((bit & 63) > 56)
                            bitmap[(bit >> 6) + 1] |= uint64_t(byte) >> (64 - (bit & 63));
                    }
                    at += k;
                });
            if (all) {
                values_of(d.encoding(), val, end, n, dict, b.index.data(), dst);
            } else {
                T* tmp = reinterpret_cast<T*>(b.i64.data());
                values_of(d.encoding(), val, end, present, dict, b.index.data(), tmp);
                int64_t i = 0;
#ifdef __AVX512F__
                if constexpr (sizeof(T) == 4) {
                    for (; i + 16 <= n; i += 16) {
                        const __mmask16 m = __mmask16(bitmap[i >> 6] >> (i & 63));
                        _mm512_storeu_si512(dst + i, _mm512_maskz_expandloadu_epi32(m, tmp));
                        tmp += __builtin_popcount(m);
                    }
                }
#endif
                for (; i < n; i++)
                    dst[i] = (bitmap[i >> 6] >> (i & 63)) & 1 ? *tmp++ : T(0);
            }
        }
        rows += n;
    }
    return rows;
}

// A list column without nulls: offsets from the zero bits of the repetition levels, values by the
// dictionary. With `unique`, equal neighbouring lists are stored once and inverse[row] names the
// stored list.
int64_t hand_list(parquet::PageReader& pages, Buffers& b, bool unique, int64_t* stored,
                  int64_t* out, int32_t* off, int32_t* inverse) {
    int64_t rows = 0, values = 0, kept = 0;
    const int64_t* dict = reinterpret_cast<const int64_t*>(b.dict.data());
    while (auto page = pages.NextPage()) {
        if (page->type() == parquet::PageType::DICTIONARY_PAGE) {
            std::memcpy(b.dict.data(), page->data(), page->size());
            continue;
        }
        auto& d = static_cast<parquet::DataPageV1&>(*page);
        const uint8_t *p = d.data(), *end = p + d.size();
        const int64_t n = d.num_values();
        uint32_t rl, dl;
        std::memcpy(&rl, p, 4);
        const uint8_t *rep = p + 4, *def_at = rep + rl;
        std::memcpy(&dl, def_at, 4);
        const uint8_t *def = def_at + 4, *val = def + dl;
        bool simple = true;
        hybrid(
            def, val, 2, n, [&](uint32_t v, int64_t) { simple &= v == 3; },
            [&](const uint8_t*, int64_t) { simple = false; });
        if (!simple) {
            std::fprintf(stderr, "limits: nulls or empty lists are not handled here\n");
            std::exit(1);
        }
        const int64_t first_row = rows;
        int64_t at = 0;
        hybrid(
            rep, def_at, 1, n,
            [&](uint32_t v, int64_t k) {
                if (!v)
                    for (int64_t i = 0; i < k; i++)
                        off[rows++] = int32_t(values + at + i);
                at += k;
            },
            [&](const uint8_t* q, int64_t k) {
                for (int64_t i = 0; i < k; i += 64) {
                    uint64_t w = ~load64(q + i / 8);
                    if (k - i < 64)
                        w &= (1ull << (k - i)) - 1;
                    while (w) {
                        off[rows++] = int32_t(values + at + i + __builtin_ctzll(w));
                        w &= w - 1;
                    }
                }
                at += k;
            });
        if (!unique) {
            values_of(d.encoding(), val, end, n, dict, b.index.data(), out + values);
        } else {
            // indices of the whole page, neighbours compared as indices; only lists that differ
            // from the one before are looked up
            const bool plain = d.encoding() == parquet::Encoding::PLAIN;
            const int64_t* pv = reinterpret_cast<const int64_t*>(val);
            if (!plain) {
                const int width = *val;
                uint32_t* o = b.index.data();
                hybrid(
                    val + 1, end, width, n,
                    [&](uint32_t v, int64_t k) {
                        std::fill_n(o, k, v);
                        o += k;
                    },
                    [&](const uint8_t* q, int64_t k) {
                        unpack(q, width, k, o);
                        o += k;
                    });
            }
            off[rows] = int32_t(values + n);
            int64_t last = -1, last_len = 0;
            for (int64_t r = first_row; r < rows; r++) {
                const int64_t s = off[r] - values, len = off[r + 1] - off[r];
                const bool same =
                    last >= 0 && len == last_len &&
                    (plain ? !std::memcmp(pv + s, pv + last, len * 8)
                           : !std::memcmp(b.index.data() + s, b.index.data() + last, len * 4));
                if (!same) {
                    if (plain)
                        std::memcpy(out + kept, pv + s, len * 8);
                    else
                        for (int64_t i = 0; i < len; i++)
                            out[kept + i] = dict[b.index[s + i]];
                    kept += len;
                }
                last = s, last_len = len;
                inverse[r] = int32_t(kept);  // end of the row's stored list
            }
        }
        values += n;
    }
    off[rows] = int32_t(values);
    if (stored)
        *stored += unique ? kept : values;
    return rows;
}

}  // namespace limits
