#include "daemon/worker/data/store_messages.h"

namespace millrace::data {

void toMessage(const objects::StoreAccess& access, v1::StoreAccess& out) {
    out.set_scheme(access.scheme);
    out.set_endpoint(access.endpoint);
    out.set_region(access.region);
    out.set_wants_checksums(access.wantsChecksums);
    out.set_access_key(access.credentials.accessKey);
    out.set_secret_key(access.credentials.secretKey);
    out.set_session_token(access.credentials.sessionToken);
}

objects::StoreAccess accessOf(const v1::StoreAccess& message) {
    return {message.scheme(),
            message.endpoint(),
            message.region(),
            message.wants_checksums(),
            {message.access_key(), message.secret_key(), message.session_token()}};
}

}  // namespace millrace::data
