#pragma once
// Checks text before it is sent to a daemon: protobuf's strings are UTF-8, and any other byte would
// come back as an error about a field number.
//
// Pure. Failure: kInvalidArgument naming the first bad field and the position of the byte in it.
#include <google/protobuf/message.h>

#include "backend/core/status.h"

namespace millrace::client {

Status checkTexts(const google::protobuf::Message& message);

}  // namespace millrace::client
