#pragma once
// Converts a daemon's status between values and the messages of millrace.v1.
//
// Threads: any. Failure: none; what a peer left out or does not know becomes the default.
#include <millrace/v1/daemon.pb.h>
#include <millrace/v1/nodes.pb.h>

#include "backend/values/daemon_info.h"

namespace millrace::convert {

v1::HandshakeResponse toProto(const values::Handshake& value);
values::Handshake fromProto(const v1::HandshakeResponse& message);

v1::DaemonStatusResponse toProto(const values::DaemonStatus& value);
values::DaemonStatus fromProto(const v1::DaemonStatusResponse& message);

v1::DownResponse toProto(const values::DownReport& value);
values::DownReport fromProto(const v1::DownResponse& message);

v1::CheckStoreResponse toProto(const values::StoreCheck& value);
values::StoreCheck fromProto(const v1::CheckStoreResponse& message);

}  // namespace millrace::convert
