#pragma once
// Converts the credentials of an object store to and from messages.
//
// Threads: values.
#include "backend/objects/credentials.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

void toMessage(const objects::StoreAccess& access, v1::StoreAccess& out);
objects::StoreAccess accessOf(const v1::StoreAccess& message);

}  // namespace millrace::data
