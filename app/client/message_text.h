#pragma once
// Text on its way to a daemon: protobuf's strings are UTF-8, and a message with any other byte in
// one would come back as an error about a field number.
//
// Pure. Failure: kInvalidArgument naming the first field and where in it the byte stands.
#include <google/protobuf/message.h>

#include "backend/core/status.h"

namespace millrace::client {

Status checkTexts(const google::protobuf::Message& message);

}  // namespace millrace::client
