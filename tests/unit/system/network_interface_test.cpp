#include "backend/system/network_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(NetworkInterface, ANameAndAnAddressAreTakenAsTheyAre) {
    for (const char* text : {"node7", "node7.cluster", "10.1.2.3", "[fd00::1]"}) {
        EXPECT_EQ(ownAddressAs(text).value_or("none"), text);
    }
    EXPECT_EQ(ownAddressAs("fd00::1").value_or("none"), "[fd00::1]");
    for (const char* wrong : {"", "a b", "node7:80", "[fd00::1", "::g", "a/b/c"}) {
        EXPECT_TRUE(absl::IsInvalidArgument(ownAddressAs(wrong).status())) << wrong;
    }
}

TEST(NetworkInterface, OfANetworkItIsTheAddressThatThisMachineHasInIt) {
    for (const char* network : {"127.0.0.0/8", "127.0.0.1/32", "127.255.0.0/9"}) {
        const auto own = ownAddressAs(network);
        const bool isIn = std::string_view(network) != "127.255.0.0/9";
        EXPECT_EQ(own.ok(), isIn) << network;
        EXPECT_EQ(own.value_or("127.0.0.1"), "127.0.0.1");
    }
    EXPECT_TRUE(absl::IsNotFound(ownAddressAs("203.0.113.0/24").status()));  // RFC 5737
    EXPECT_THAT(std::string(messageOf(ownAddressAs("203.0.113.0/24").status())),
                HasSubstr("203.0.113.0/24"));
    for (const char* wrong : {"127.0.0.0/", "127.0.0.0/33", "127.0.0/8", "::/129", "lo/8", "/8"}) {
        EXPECT_TRUE(absl::IsInvalidArgument(ownAddressAs(wrong).status())) << wrong;
    }
}

TEST(NetworkInterface, ANameThatMeansThisMachineAloneIsTold) {
    for (const char* own : {"127.0.0.1", "127.0.1.1", "::1", "[::1]", "localhost"}) {
        EXPECT_TRUE(isLoopbackHost(own)) << own;
    }
    for (const char* other : {"203.0.113.7", "[2001:db8::1]", "no-such-name.invalid"}) {
        EXPECT_FALSE(isLoopbackHost(other)) << other;
    }
}

TEST(NetworkInterface, AnAddressOfVersion6IsFoundWithItsBracketsToo) {
    EXPECT_EQ(interfaceFacing("[127.0.0.1]"), interfaceFacing("127.0.0.1"));
    EXPECT_EQ(addressFacing("127.0.0.1"), "127.0.0.1");
}

}  // namespace
}  // namespace millrace
