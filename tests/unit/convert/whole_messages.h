#pragma once
// Messages with every field set, and a check of which fields a value keeps. It names a field or
// member that was added without its conversion.
//
// Threads: none.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>

namespace millrace::convert {

namespace filling {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

inline void setField(Message& message, const FieldDescriptor& field, int& count);

inline void setAll(Message& message, int& count) {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
        setField(message, *message.GetDescriptor()->field(i), count);
    }
}

// All texts and numbers differ, and none is the default.
inline void setField(Message& message, const FieldDescriptor& field, int& count) {
    const auto& in = *message.GetReflection();
    const bool isList = field.is_repeated();
    const int n = ++count;
    const std::string text = "text " + std::to_string(n);
    const auto set = [&](auto add, auto put, auto value) {
        isList ? (in.*add)(&message, &field, value) : (in.*put)(&message, &field, value);
    };
    using R = google::protobuf::Reflection;
    switch (field.cpp_type()) {
        case FieldDescriptor::CPPTYPE_INT32:
            return set(&R::AddInt32, &R::SetInt32, n);
        case FieldDescriptor::CPPTYPE_INT64:
            return set(&R::AddInt64, &R::SetInt64, std::int64_t{n});
        case FieldDescriptor::CPPTYPE_UINT32:
            return set(&R::AddUInt32, &R::SetUInt32, static_cast<std::uint32_t>(n));
        case FieldDescriptor::CPPTYPE_UINT64:
            return set(&R::AddUInt64, &R::SetUInt64, static_cast<std::uint64_t>(n));
        case FieldDescriptor::CPPTYPE_DOUBLE:
            return set(&R::AddDouble, &R::SetDouble, n + 0.5);
        case FieldDescriptor::CPPTYPE_FLOAT:
            return set(&R::AddFloat, &R::SetFloat, static_cast<float>(n));
        case FieldDescriptor::CPPTYPE_BOOL:
            return set(&R::AddBool, &R::SetBool, true);
        case FieldDescriptor::CPPTYPE_ENUM:
            // The last value of an enum, which is not the default of any.
            return set(&R::AddEnumValue, &R::SetEnumValue,
                       field.enum_type()->value(field.enum_type()->value_count() - 1)->number());
        case FieldDescriptor::CPPTYPE_STRING:
            return set(&R::AddString, &R::SetString, text);
        case FieldDescriptor::CPPTYPE_MESSAGE:
            return setAll(
                isList ? *in.AddMessage(&message, &field) : *in.MutableMessage(&message, &field),
                count);
    }
}

// Converts to the type of any member of an aggregate.
struct Anything {
    template <class T>
    operator T() const;  // NOLINT: implicit on purpose
};

}  // namespace filling

template <class Message>
Message wholeMessage() {
    Message message;
    int count = 0;
    filling::setAll(message, count);
    return message;
}

/// The differences of two messages, or "".
inline std::string differenceOf(const google::protobuf::Message& a,
                                const google::protobuf::Message& b) {
    std::string report;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&report);
    return differencer.Compare(a, b) ? "" : report;
}

/// The names of a message's fields that its value does not keep; "stages.reasons" is a field of the
/// messages in the field `stages`.
template <class Message, class Read>
std::vector<std::string> leftOut(Read read) {
    using filling::FieldDescriptor;
    std::vector<std::string> names;
    Message message;
    const auto look = [&](const auto& self, google::protobuf::Message& part,
                          const std::string& path) -> void {
        const auto& in = *part.GetReflection();
        const auto before = read(message);
        for (int i = 0; i < part.GetDescriptor()->field_count(); ++i) {
            const FieldDescriptor& field = *part.GetDescriptor()->field(i);
            const std::string name = path + field.name();
            int count = 0;
            filling::setField(part, field, count);
            const bool isKept = !(read(message) == before);
            in.ClearField(&part, &field);
            if (!isKept) {
                names.push_back(name);
            } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_map()) {
                self(self,
                     field.is_repeated() ? *in.AddMessage(&part, &field)
                                         : *in.MutableMessage(&part, &field),
                     name + ".");
                in.ClearField(&part, &field);
            }
        }
    };
    look(look, message, "");
    return names;
}

/// Number of members of an aggregate.
template <class Value, class... Found>
constexpr std::size_t numMembers() {
    if constexpr (requires { Value{Found{}..., filling::Anything{}}; }) {
        return numMembers<Value, Found..., filling::Anything>();
    } else {
        return sizeof...(Found);
    }
}

}  // namespace millrace::convert
