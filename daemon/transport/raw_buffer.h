#pragma once
// Messages as raw buffers, for calls that must not copy the large parts of a message.
//
// Threads: any. Failure: false for bytes that are not such a message.
#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

namespace millrace::transport {

grpc::ByteBuffer bufferOf(const google::protobuf::MessageLite& message);
/// Returns false if it is not such a message.
bool readBuffer(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message);

}  // namespace millrace::transport
