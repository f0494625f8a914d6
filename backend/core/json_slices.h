#pragma once
// Parts of a JSON document as slices of its text, for documents that are too large to be built as a
// tree: a plan of 50,000 files takes ten times its size as one.
//
// For documents that Millrace's own programs wrote: what is found is cut out, not checked. Text
// that is no JSON gives nothing, or slices that parseJson refuses; nothing outside of it is read.
// Slices live as long as the text. Threads: any. Failure: none.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// The value of an object's own member, without space around it. A key that is written with escapes
/// is not found.
std::optional<std::string_view> jsonMemberText(std::string_view object, std::string_view key);

/// The object's text with `value` in the place of the member's; as it was when it has no such one.
std::string withJsonMember(std::string_view object, std::string_view key, std::string_view value);

/// The elements of an array, one after the other.
class JsonElements {
 public:
    explicit JsonElements(std::string_view array);
    /// Nothing at the end, or where the text cannot be followed any further.
    std::optional<std::string_view> next();
    /// Bytes of the text up to the end of the last element.
    std::size_t position() const { return at_; }

 private:
    const std::string_view text_;
    std::size_t at_ = 0;
    bool isFirst_ = true;
};

}  // namespace millrace
