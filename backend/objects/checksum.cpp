#include "backend/objects/checksum.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <concepts>
#include <cstdint>

#include <openssl/evp.h>

namespace millrace::objects {
namespace {

constexpr std::string_view kPrefix = "x-amz-checksum-";
constexpr std::array<std::string_view, 5> kAlgorithms = {"crc64nvme", "crc32c", "crc32", "sha256",
                                                         "sha1"};

std::string base64(std::string_view bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3), '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()));
    return text;
}

/// A reflected CRC, with all bits inverted before and after, eight bytes at a time.
template <std::unsigned_integral Word>
class Crc {
 public:
    /// `polynomial`: in reflected form.
    constexpr explicit Crc(Word polynomial) {
        for (unsigned byte = 0; byte < 256; ++byte) {
            Word value = byte;
            for (int bit = 0; bit < 8; ++bit) {
                value = (value >> 1) ^ ((value & 1) != 0 ? polynomial : Word{0});
            }
            tables_[0][byte] = value;
        }
        for (std::size_t table = 1; table < tables_.size(); ++table) {
            for (unsigned byte = 0; byte < 256; ++byte) {
                const Word before = tables_[table - 1][byte];
                tables_[table][byte] = (before >> 8) ^ tables_[0][before & 255];
            }
        }
    }

    std::string bigEndian(std::string_view bytes) const {
        Word value = static_cast<Word>(~Word{0});
        while (bytes.size() >= 8) {
            Word next = 0;
            for (std::size_t i = 0; i < 8; ++i) {
                const std::uint64_t known = i < sizeof(Word) ? value >> (8 * i) : 0;
                const auto byte = static_cast<unsigned char>(static_cast<unsigned char>(bytes[i]) ^
                                                             static_cast<unsigned char>(known));
                next ^= tables_[7 - i][byte];
            }
            value = next;
            bytes.remove_prefix(8);
        }
        for (const char c : bytes) {
            value = (value >> 8) ^ tables_[0][(value ^ static_cast<unsigned char>(c)) & 255];
        }
        value = static_cast<Word>(~value);
        std::string out;
        for (std::size_t i = sizeof(Word); i-- > 0;) {
            out += static_cast<char>(value >> (8 * i));
        }
        return out;
    }

 private:
    std::array<std::array<Word, 256>, 8> tables_{};
};

std::string digest(std::string_view bytes, const EVP_MD* kind) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    unsigned size = 0;
    EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, kind, nullptr);
    return {reinterpret_cast<const char*>(out.data()), size};
}

}  // namespace

std::optional<StoredChecksum> storedChecksum(std::string_view headerName, std::string_view value) {
    std::string name(headerName);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!name.starts_with(kPrefix) || value.find('-') != std::string_view::npos) {
        return std::nullopt;  // "-" is not a base64 digit: a checksum of parts
    }
    name.erase(0, kPrefix.size());
    if (std::ranges::find(kAlgorithms, name) == kAlgorithms.end()) {
        return std::nullopt;  // includes x-amz-checksum-type
    }
    return StoredChecksum{std::move(name), std::string(value)};
}

std::string checksumOf(std::string_view algorithm, std::string_view bytes) {
    static const Crc<std::uint32_t> crc32(0xEDB88320U), crc32c(0x82F63B78U);
    static const Crc<std::uint64_t> crc64nvme(0x9A6C9329AC4BC9B5ULL);
    if (algorithm == "crc32") {
        return base64(crc32.bigEndian(bytes));
    }
    if (algorithm == "crc32c") {
        return base64(crc32c.bigEndian(bytes));
    }
    if (algorithm == "crc64nvme") {
        return base64(crc64nvme.bigEndian(bytes));
    }
    if (algorithm == "sha1") {
        return base64(digest(bytes, EVP_sha1()));
    }
    return algorithm == "sha256" ? base64(digest(bytes, EVP_sha256())) : "";
}

}  // namespace millrace::objects
