#pragma once
// Parts of a JSON document as slices of its text, for documents that are too large to parse into a
// tree: for a plan of 50,000 files a tree takes ten times the text's size.
//
// For documents that Millrace's own programs wrote: slices are cut out, not validated. Text that is
// not JSON gives nothing, or slices that parseJson rejects; nothing outside the text is read.
// Slices live as long as the text. Threads: any. Failure: none.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// The value of an object's own member, without surrounding space. A key written with escapes is
/// not found.
std::optional<std::string_view> jsonMemberText(std::string_view object, std::string_view key);

/// The object's text with the member's value replaced by `value`; unchanged if it has no such
/// member.
std::string withJsonMember(std::string_view object, std::string_view key, std::string_view value);

/// Iterates over the elements of an array.
class JsonElements {
 public:
    explicit JsonElements(std::string_view array);
    /// Nothing at the end, or if the text is malformed.
    std::optional<std::string_view> next();
    /// Bytes of the text up to the end of the last element.
    std::size_t position() const { return at_; }

 private:
    const std::string_view text_;
    std::size_t at_ = 0;
    bool isFirst_ = true;
};

}  // namespace millrace
