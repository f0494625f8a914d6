#include "app/client/message_text.h"

#include <vector>

#include "backend/text/utf8.h"

namespace millrace::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// "spec_text" -> "spec text"
std::string wordsOf(const FieldDescriptor& field) {
    std::string words = field.name();
    for (char& c : words) {
        c = c == '_' ? ' ' : c;
    }
    return words;
}

Status checkText(const FieldDescriptor& field, const std::string& text) {
    const std::optional<BadByte> bad = findBadByte(text);
    if (!bad.has_value()) {
        return okStatus();
    }
    return invalidArgument(wordsOf(field), ", line ", bad->line, ", character ", bad->column,
                           ": byte 0x", absl::Hex(bad->byte, absl::kZeroPad2), " is not UTF-8: '",
                           toUtf8(text, 60), "'");
}

Status checkField(const Message& message, const FieldDescriptor& field) {
    const Reflection& in = *message.GetReflection();
    const int count = field.is_repeated() ? in.FieldSize(message, &field) : 1;
    for (int i = 0; i < count; ++i) {
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
            RETURN_IF_ERROR(checkTexts(field.is_repeated()
                                           ? in.GetRepeatedMessage(message, &field, i)
                                           : in.GetMessage(message, &field)));
        } else if (field.type() == FieldDescriptor::TYPE_STRING) {
            RETURN_IF_ERROR(checkText(field, field.is_repeated()
                                                 ? in.GetRepeatedString(message, &field, i)
                                                 : in.GetString(message, &field)));
        }
    }
    return okStatus();
}

}  // namespace

Status checkTexts(const Message& message) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
        RETURN_IF_ERROR(checkField(message, *field));
    }
    return okStatus();
}

}  // namespace millrace::client
