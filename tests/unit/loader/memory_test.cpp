// The memory of ranks on other nodes.
#include "daemon/worker/loader/memory.h"

#include <gtest/gtest.h>

namespace millrace::loader {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

TEST(RelayRings, TheyGetHalfOfTheLimitAndAQuarterOfThisIsSpare) {
    const RelayRings rings(1'000);
    EXPECT_EQ(rings.all, 500 * kMegabyte);
    EXPECT_EQ(rings.spare, 125 * kMegabyte);
}

TEST(NodesMemory, ALimitThatIsTooLittleForARelayIsRefusedWithOneThatIsEnough) {
    NodesMemory memory;
    memory.limit = 100 * kMegabyte;
    memory.relay = RelayRings(100);
    memory.relayNeed = 37 * kMegabyte;
    EXPECT_TRUE(memory.admitted().ok());
    memory.relayNeed = 40 * kMegabyte;
    EXPECT_EQ(messageOf(memory.admitted()),
              "resources.memory_limit_mb: 100 MB are too little for relays; 107 are enough: the "
              "rings of a node's ranks take 40 MB, and 3/8 of the limit are for them");
    memory.relay = RelayRings(107);
    EXPECT_TRUE(memory.admitted().ok());
}

}  // namespace
}  // namespace millrace::loader
