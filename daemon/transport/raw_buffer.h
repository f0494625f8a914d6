#pragma once
// Messages as raw buffers, of calls that are made without copying what is large in them.
//
// Threads: any. Failure: of bytes that are no such message: false.
#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

namespace millrace::transport {

grpc::ByteBuffer bufferOf(const google::protobuf::MessageLite& message);
/// False: it is no such message.
bool readBuffer(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message);

}  // namespace millrace::transport
