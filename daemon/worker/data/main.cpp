// millrace-data: millrace-loader for streams with data workers or relays. It has the same roles,
// and data. It is a separate program because starting gRPC takes longer than reading a small
// stream.
#include "backend/core/build_id.h"
#include "daemon/worker/data/data_worker.h"
#include "daemon/worker/data/lead.h"
#include "daemon/worker/loader/program.h"
#include "daemon/worker/relay/relay.h"

int main(int argc, char** argv) {
    using namespace millrace;
    const auto follow = [](const loader::FeedJob& job, loader::FeedEvents& events,
                           loader::FeedOwner& owner) {
        return relay::runRelay(job, std::string(buildId()), events, owner);
    };
    return loader::runProgram(
        argc, argv,
        {std::string(buildId()), data::Lead::start, data::runDataWorker, follow, nullptr});
}
