#pragma once
// Texts in the form that KeyBuckets takes: short ones as they are, others by their hashes. Private
// to recipe.
//
// Threads: one each.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>

#include "backend/recipe/join/key_rows.h"
#include "backend/text/first_bytes.h"

namespace millrace::recipe {

/// Views of the texts of a block of rows.
class TextViews {
 public:
    /// `numbers`, if not null, has for each row the index of its text.
    TextViews(const arrow::StringArray& texts, const arrow::Int32Array* numbers);

    /// Finds the texts, and which of them are keys.
    void load(std::int64_t from, std::size_t n, std::array<bool, kKeyBlock>& isKey);
    std::string_view of(std::size_t i) const { return views_[i]; }

 private:
    const char* data_;
    const std::int32_t* offsets_;
    const arrow::Array& texts_;
    const arrow::Array& rows_;
    const std::int32_t* numbers_;
    const bool hasNulls_;
    std::array<std::string_view, kKeyBlock> views_{};
};

/// Texts of a column as hashes.
class TextRows {
 public:
    static constexpr bool kIsExact = false;
    explicit TextRows(const arrow::StringArray& texts, const arrow::Int32Array* numbers = nullptr,
                      const StoredKeys* stored = nullptr)
        : views_(texts, numbers), stored_(stored) {}

    void load(std::int64_t from, std::size_t n, KeyBlock<>& block);
    bool isEqual(std::size_t i, std::uint32_t row) const {
        return stored_->isEqual(row, views_.of(i));
    }
    void ask(std::uint32_t row) const { stored_->ask(row); }
    void fetch(std::uint32_t row) const { stored_->fetch(row); }

 private:
    TextViews views_;
    const StoredKeys* stored_;
};

/// How a table's short texts become keys: by their bytes, plus their length unless all have the
/// same length.
struct ShortForm {
    static constexpr std::size_t kAnyWidth = ~std::size_t{0};
    static constexpr std::size_t kMost = sizeof(std::uint64_t) + sizeof(std::uint32_t);
    std::size_t width = kAnyWidth;  ///< common length of the texts

    /// Returns nothing if a text is too long: at most twelve bytes if all lengths are equal, else
    /// eleven.
    static std::optional<ShortForm> of(const arrow::StringArray& texts, int threads);
    bool canBe(std::size_t size) const { return width == kAnyWidth ? size < kMost : size == width; }
    /// The key of a text for which canBe() holds.
    ShortKey key(std::string_view text) const {
        ShortKey key = bytes(text);
        key.tail |= width == kAnyWidth ? static_cast<std::uint32_t>(text.size()) << 24 : 0;
        return key;
    }

 private:
    static ShortKey bytes(std::string_view text) {
        const std::size_t n = text.size();
        const std::uint64_t head = firstBytes(text);
        std::uint32_t tail = 0;
        if (n > sizeof head) {
            std::memcpy(&tail, text.data() + n - sizeof tail, sizeof tail);
            tail >>= 8 * (kMost - n);
        }
        return {head, tail};
    }
};

/// Texts that are their own keys.
class ShortTextRows {
 public:
    static constexpr bool kIsExact = true;
    ShortTextRows(ShortForm form, const arrow::StringArray& texts,
                  const arrow::Int32Array* numbers = nullptr)
        : form_(form), views_(texts, numbers) {}

    void load(std::int64_t from, std::size_t n, KeyBlock<ShortKey>& block) {
        views_.load(from, n, block.isKey);
        for (std::size_t i = 0; i < n; ++i) {
            block.isKey[i] = block.isKey[i] && form_.canBe(views_.of(i).size());
            block.keys[i] = block.isKey[i] ? form_.key(views_.of(i)) : ShortKey{};
        }
    }
    void ask(std::uint32_t) const {}

 private:
    const ShortForm form_;
    TextViews views_;
};

}  // namespace millrace::recipe
