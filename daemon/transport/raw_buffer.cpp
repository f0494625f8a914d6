#include "daemon/transport/raw_buffer.h"

namespace millrace::transport {

grpc::ByteBuffer bufferOf(const google::protobuf::MessageLite& message) {
    const grpc::Slice slice(message.SerializeAsString());
    return grpc::ByteBuffer(&slice, 1);
}

bool readBuffer(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite& message) {
    grpc::Slice slice;
    return buffer.DumpToSingleSlice(&slice).ok() &&
           message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
}

}  // namespace millrace::transport
