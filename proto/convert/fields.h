#pragma once
// One list of fields for both directions: it pairs each member of a value with a field of its
// message once, and toProto and fromProto are made from that list, so that neither can forget one.
//
// MR_BOTH_WAYS(Value, Message) or MR_READ(Value, Message) opens a list, whose braces follow. Each
// further macro below is one field of it. Room-private; pure.
#include <type_traits>

#include "backend/text/utf8.h"

namespace millrace::convert {

// The two ways: what is read from is constant.
struct ToMessage {
    static constexpr bool isWriting = true;
    template <class Value>
    using ValueOf = const Value;
    template <class Message>
    using MessageOf = Message;
};
struct FromMessage {
    static constexpr bool isWriting = false;
    template <class Value>
    using ValueOf = Value;
    template <class Message>
    using MessageOf = const Message;
};

/// Converts numbers to the other type; texts are unchanged.
template <class To, class From>
decltype(auto) plain(const From& from) {
    if constexpr (std::is_arithmetic_v<From>) {
        return static_cast<std::remove_cvref_t<To>>(from);
    } else {
        return (from);
    }
}

// The head of a list of fields.
#define MR_FIELDS(Value, Message)                                                               \
    template <class Way>                                                                        \
    void fields([[maybe_unused]] Way way, typename Way::template ValueOf<values::Value>& value, \
                typename Way::template MessageOf<v1::Message>& message)

// Defines fromProto from the list that follows.
#define MR_READ(Value, Message)                           \
    MR_FIELDS(Value, Message);                            \
    values::Value fromProto(const v1::Message& message) { \
        values::Value value;                              \
        fields(FromMessage(), value, message);            \
        return value;                                     \
    }                                                     \
    MR_FIELDS(Value, Message)

// Defines toProto and fromProto from the list that follows.
#define MR_BOTH_WAYS(Value, Message)                  \
    MR_FIELDS(Value, Message);                        \
    v1::Message toProto(const values::Value& value) { \
        v1::Message message;                          \
        fields(ToMessage(), value, message);          \
        return message;                               \
    }                                                 \
    MR_READ(Value, Message)

// A number or a text.
#define MR_FIELD(member, field)                                              \
    if constexpr (Way::isWriting) {                                          \
        message.set_##field(plain<decltype(message.field())>(value.member)); \
    } else {                                                                 \
        value.member = plain<decltype(value.member)>(message.field());       \
    }

// A path, or another text of this machine that may not be UTF-8.
#define MR_PATH(member, field)                     \
    if constexpr (Way::isWriting) {                \
        message.set_##field(toUtf8(value.member)); \
    } else {                                       \
        value.member = message.field();            \
    }

#define MR_OPTIONAL(member, field)                                                \
    if constexpr (Way::isWriting) {                                               \
        if (value.member.has_value()) {                                           \
            message.set_##field(plain<decltype(message.field())>(*value.member)); \
        }                                                                         \
    } else if (message.has_##field()) {                                           \
        value.member = plain<decltype(message.field())>(message.field());         \
    }

// Several numbers or texts.
#define MR_LIST(member, field)                                                    \
    if constexpr (Way::isWriting) {                                               \
        message.mutable_##field()->Add(value.member.begin(), value.member.end()); \
    } else {                                                                      \
        value.member.assign(message.field().begin(), message.field().end());      \
    }

#define MR_MAP(member, field)                                                        \
    if constexpr (Way::isWriting) {                                                  \
        message.mutable_##field()->insert(value.member.begin(), value.member.end()); \
    } else {                                                                         \
        value.member = {message.field().begin(), message.field().end()};             \
    }

#define MR_ENUM(member, field)                      \
    if constexpr (Way::isWriting) {                 \
        message.set_##field(toProto(value.member)); \
    } else {                                        \
        value.member = fromProto(message.field());  \
    }

// A nested value, converted by its own toProto and fromProto.
#define MR_VALUE(member, field)                             \
    if constexpr (Way::isWriting) {                         \
        *message.mutable_##field() = toProto(value.member); \
    } else {                                                \
        value.member = fromProto(message.field());          \
    }

// A nested value that may be absent.
#define MR_MAYBE_VALUE(member, field)                            \
    if constexpr (Way::isWriting) {                              \
        if (value.member.has_value()) {                          \
            *message.mutable_##field() = toProto(*value.member); \
        }                                                        \
    } else if (message.has_##field()) {                          \
        value.member = fromProto(message.field());               \
    }

#define MR_VALUES(member, field)                      \
    if constexpr (Way::isWriting) {                   \
        for (const auto& one : value.member) {        \
            *message.add_##field() = toProto(one);    \
        }                                             \
    } else {                                          \
        value.member.reserve(message.field().size()); \
        for (const auto& one : message.field()) {     \
            value.member.push_back(fromProto(one));   \
        }                                             \
    }

}  // namespace millrace::convert
