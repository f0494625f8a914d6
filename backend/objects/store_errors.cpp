#include "backend/objects/store_errors.h"

namespace millrace::objects {
namespace {

constexpr std::string_view kGoesOn =
    "a run continues from its last checkpoint when it is started again";

}  // namespace

Status StoreErrors::noSuchBucket(std::string_view uri) const {
    return notFound(uri, ": no such bucket at ", server);
}

Status StoreErrors::noSuchObject(std::string_view uri) const {
    return notFound(uri, ": no such object at ", server);
}

Status StoreErrors::denied(std::string_view uri, std::string_view reason) const {
    return permissionDenied(uri, ": ", server, " denies access (", reason, "); check ", credentials,
                            " and the bucket's policy");
}

Status StoreErrors::doesNotAnswer(std::string_view uri, std::string_view reason) const {
    return unavailable(uri, ": the S3 server ", server, " does not answer (", reason, "), ",
                       attempts, " tries; check the network and AWS_ENDPOINT_URL; ", kGoesOn);
}

Status StoreErrors::failed(std::string_view uri, std::string_view reason) const {
    return unavailable(uri, ": the S3 server ", server, " failed (", reason, "), ", attempts,
                       " tries; ", kGoesOn);
}

Status StoreErrors::changed(std::string_view uri, std::string_view before,
                            std::string_view now) const {
    return failedPrecondition(
        uri, ": changed since the run was planned: its ETag at ", server, " is no longer ", before,
        now.empty() ? "" : " but ", now,
        "; put the planned object back and resume the run, or start a new one on the new object");
}

Status StoreErrors::damaged(std::string_view uri, std::string_view algorithm,
                            std::string_view kept) const {
    return dataLoss(
        uri, ": what ", server, " sends does not have the checksum that it keeps of it (",
        algorithm, " ", kept, "), ", attempts,
        " tries; upload the object again, or look at what is between here and the store");
}

}  // namespace millrace::objects
