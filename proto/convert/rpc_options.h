#pragma once
// Deadlines, keep-alive and size limits of the services, in one place for both sides.
//
// Plain numbers: neither gRPC nor proto types. Unit in the name.
#include <cstdint>
#include <string_view>

namespace millrace::rpc {

/// The version of proto/millrace/v1 that this build speaks (HandshakeRequest.protocol_version).
inline constexpr std::uint32_t kProtocolVersion = 1;

/// A call that reads or changes the store.
inline constexpr int kUnaryDeadlineMs = 10'000;
/// Submit reads the spec and the dataset's footers in a separate worker. This is longer than that
/// worker's limit (daemon/agent/inspector.h), so that the daemon's error arrives.
inline constexpr int kSubmitDeadlineMs = 150'000;
/// Stop and Down wait for checkpoints: grace plus this.
inline constexpr int kStopExtraMs = 30'000;
inline constexpr int kDefaultGraceSeconds = 15;
/// A check of a run store of very many gigabytes.
inline constexpr int kCheckStoreDeadlineMs = 3'600'000;

/// Keep-alive pings while a call is open: a dead peer is noticed after time + timeout.
inline constexpr int kKeepAliveTimeMs = 20'000;
inline constexpr int kKeepAliveTimeoutMs = 10'000;
/// The server does not accept more frequent pings.
inline constexpr int kMinPingIntervalMs = 10'000;
/// Server::Shutdown ends all open calls after this.
inline constexpr int kShutdownDeadlineMs = 1'500;

/// Largest message in either direction. It leaves room for a spec that is longer than
/// values::kSpecBytesMax, so that the daemon can refuse that with a sentence.
inline constexpr int kMaxMessageBytes = 16 << 20;

/// The daemon's own errors have this as their details. Errors of the transport, which gRPC creates
/// at either end, have none.
inline constexpr std::string_view kDaemonsWord = "millraced";

/// Lines of a LogChunk and points of a MetricChunk, at most.
inline constexpr int kChunkItems = 1'000;

}  // namespace millrace::rpc
