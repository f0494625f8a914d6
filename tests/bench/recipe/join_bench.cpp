// Side tables of joins: time to build, look-ups a second, bytes. Not part of the default tests.
//
//   join_bench [ROWS [LOOKUPS [SEED [TEXT_ROWS]]]]
//
// Int64 keys at random, then as many look-ups as rows of texts of twelve hex digits; half of the
// look-ups hit. Peer: std::unordered_map. Arrow has no read-only map from key to row: its is_in /
// index_in kernels are shown as the nearest.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>

#include <arrow/api.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/exec.h>

#include "backend/recipe/join/join_table.h"

namespace millrace {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Figures {
    const char* name;
    double buildSeconds, findSeconds, bytes;
    std::int64_t hits;
};

void print(const Figures& f, std::int64_t rows, std::int64_t lookups) {
    std::printf(
        "%-28s build %6.2f s (%5.1f M rows/s)  find %6.2f s (%6.1f M/s)  %6.0f MB  %5.1f "
        "bytes/row  hits %lld\n",
        f.name, f.buildSeconds, static_cast<double>(rows) / f.buildSeconds * 1e-6, f.findSeconds,
        static_cast<double>(lookups) / f.findSeconds * 1e-6, f.bytes * 1e-6,
        f.bytes / static_cast<double>(rows), static_cast<long long>(f.hits));
}

std::shared_ptr<arrow::Array> arrayOf(const std::vector<std::int64_t>& values) {
    arrow::Int64Builder builder;
    if (!builder.AppendValues(values).ok()) {
        std::abort();
    }
    return *builder.Finish();
}

std::shared_ptr<arrow::Array> arrayOf(const std::vector<std::string>& values) {
    arrow::StringBuilder builder;
    if (!builder.AppendValues(values).ok()) {
        std::abort();
    }
    return *builder.Finish();
}

Figures ofJoinTable(const std::shared_ptr<arrow::Array>& keys,
                    const std::vector<std::shared_ptr<arrow::Array>>& asked, int threads) {
    const expr::DataType type{keys->type_id() == arrow::Type::STRING ? expr::TypeKind::kString
                                                                     : expr::TypeKind::kInt64};
    const auto start = Clock::now();
    const auto table =
        recipe::JoinTable::make({"bench", false, nullptr, recipe::JoinTable::Finds::kRow, threads},
                                {{"k", "k", type, type}}, {keys});
    if (!table.ok()) {
        std::fprintf(stderr, "%s\n", std::string(table.status().message()).c_str());
        std::exit(1);
    }
    const double build = secondsSince(start);
    const auto begin = Clock::now();
    std::vector<std::int64_t> hits(static_cast<std::size_t>(threads), 0);
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&, t] {
            for (std::size_t i = static_cast<std::size_t>(t); i < asked.size();
                 i += static_cast<std::size_t>(threads)) {
                const Result<std::vector<std::int64_t>> found = (*table)->find({asked[i]});
                for (const std::int64_t row : *found) {
                    hits[static_cast<std::size_t>(t)] += row >= 0 ? 1 : 0;
                }
            }
        });
    }
    workers.clear();
    std::int64_t all = 0;
    for (const std::int64_t some : hits) {
        all += some;
    }
    return {threads == 1 ? "JoinTable" : "JoinTable, 2 threads", build, secondsSince(begin),
            static_cast<double>((*table)->bytes()), all};
}

template <class Key>
Figures ofUnorderedMap(const std::vector<Key>& keys,
                       const std::vector<std::shared_ptr<arrow::Array>>& asked) {
    const auto start = Clock::now();
    using Array =
        std::conditional_t<std::is_same_v<Key, std::string>, arrow::StringArray, arrow::Int64Array>;
    std::unordered_map<Key, std::int64_t> map;
    map.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        map.emplace(keys[i], static_cast<std::int64_t>(i));
    }
    const double build = secondsSince(start);
    const auto begin = Clock::now();
    std::int64_t hits = 0;
    for (const auto& block : asked) {
        const auto& values = static_cast<const Array&>(*block);
        for (std::int64_t i = 0; i < values.length(); ++i) {
            hits += map.contains(Key(values.GetView(i))) ? 1 : 0;
        }
    }
    // A node: next, key, value, and what malloc adds around it.
    const double bytes = static_cast<double>(keys.size()) * (24 + sizeof(Key)) +
                         static_cast<double>(map.bucket_count()) * sizeof(void*);
    return {"std::unordered_map", build, secondsSince(begin), bytes, hits};
}

/// Arrow builds its table again in every call, so one call looks up all keys.
Figures ofArrow(const std::shared_ptr<arrow::Array>& keys,
                const std::vector<std::shared_ptr<arrow::Array>>& asked) {
    const arrow::compute::SetLookupOptions options(keys);
    arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
    arrow::compute::ExecContext context(&pool);
    const auto start = Clock::now();
    auto nothing = arrow::compute::IndexIn(asked[0]->Slice(0, 1), options, &context);
    const double build = secondsSince(start);
    const auto bytes = static_cast<double>(pool.max_memory());  // two tables while it grows
    const auto chunks = std::make_shared<arrow::ChunkedArray>(asked);
    const auto begin = Clock::now();
    const auto found = arrow::compute::IndexIn(chunks, options, &context);
    const double both = secondsSince(begin);
    if (!nothing.ok() || !found.ok()) {
        std::exit(1);
    }
    const std::int64_t hits = chunks->length() - found->null_count();
    return {"arrow index_in", build, both > build ? both - build : 0, bytes, hits};
}

/// `make` returns the key of a random number.
template <class Key, class Make>
void compare(const char* kind, std::int64_t rows, std::int64_t lookups, std::uint64_t seed,
             Make make) {
    std::mt19937_64 random(seed);
    std::vector<Key> keys(static_cast<std::size_t>(rows));
    for (Key& key : keys) {
        key = make(random());
    }
    std::vector<std::shared_ptr<arrow::Array>> asked;
    constexpr std::int64_t kBlock = 65536;
    for (std::int64_t done = 0; done < lookups; done += kBlock) {
        std::vector<Key> block(static_cast<std::size_t>(std::min(kBlock, lookups - done)));
        for (Key& key : block) {
            key = random() % 2 == 0 ? keys[random() % keys.size()] : make(random());
        }
        asked.push_back(arrayOf(block));
    }
    const auto column = arrayOf(keys);
    std::printf("%s: %lld rows, %lld look-ups, seed %llu\n", kind, static_cast<long long>(rows),
                static_cast<long long>(lookups), static_cast<unsigned long long>(seed));
    print(ofJoinTable(column, asked, 1), rows, lookups);
    print(ofJoinTable(column, asked, 2), rows, lookups);
    print(ofArrow(column, asked), rows, lookups);
    print(ofUnorderedMap(keys, asked), rows, lookups);
}

std::string hexOf(std::uint64_t number) {
    char text[17];
    std::snprintf(text, sizeof text, "%012llx",
                  static_cast<unsigned long long>(number & 0xFFFFFFFFFFFF));
    return text;
}

int run(std::int64_t rows, std::int64_t lookups, std::uint64_t seed, std::int64_t textRows) {
    compare<std::int64_t>("int64", rows, lookups, seed,
                          [](std::uint64_t number) { return static_cast<std::int64_t>(number); });
    compare<std::string>("text", textRows, textRows, seed, hexOf);
    return 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
    const auto number = [&](int i, long long otherwise) {
        return argc > i ? std::atoll(argv[i]) : otherwise;
    };
    return millrace::run(number(1, 20'000'000), number(2, 20'000'000),
                         static_cast<std::uint64_t>(number(3, 7)), number(4, 5'000'000));
}
