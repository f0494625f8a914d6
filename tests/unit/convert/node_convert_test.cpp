#include "proto/convert/node_convert.h"

#include <gtest/gtest.h>

namespace millrace::convert {
namespace {

TEST(NodeConvert, WhatIsUnknownStaysUnknown) {
    NodeMoment moment;
    moment.node = "n1";
    moment.sample.timeMs = 5;
    moment.sample.gpus.resize(1);
    const NodeMoment back = fromProto(toProto(moment));
    EXPECT_EQ(back.sample, moment.sample);
    EXPECT_FALSE(back.sample.cpuPercent.has_value());
    EXPECT_FALSE(back.sample.gpus.at(0).utilizationPercent.has_value());
}

TEST(NodeConvert, AMomentComesBackAsItWent) {
    NodeMoment moment;
    moment.node = "n1";
    telemetry::NodeSample& s = moment.sample;
    s.timeMs = 1;
    s.cpuPercent = 0.0;
    s.perCorePercent = {1, 99};
    s.load1 = 0.5;
    s.load5 = 0.25;
    s.load15 = 0.125;
    s.memoryUsedBytes = 7;
    s.memoryTotalBytes = 8;
    s.diskUsedBytes = 3;
    s.diskTotalBytes = 10;
    s.diskReadBytesPerSecond = 1.5;
    s.diskWriteBytesPerSecond = 2.5;
    s.netRxBytesPerSecond = 3.5;
    s.netTxBytesPerSecond = 4.5;
    telemetry::GpuSample gpu;
    gpu.index = 1;
    gpu.utilizationPercent = 90;
    gpu.memoryUsedBytes = 1;
    gpu.memoryTotalBytes = 2;
    gpu.powerWatts = 300;
    gpu.temperatureCelsius = 60;
    gpu.smClockMhz = 1900;
    gpu.pcieRxBytesPerSecond = 5;
    gpu.pcieTxBytesPerSecond = 6;
    s.gpus = {gpu};
    moment.workers = {{"r-abc23", "feed", 12, 150.0, 4096}, {"r-abc23", "rank0", 13, {}, {}}};
    const NodeMoment back = fromProto(toProto(moment));
    EXPECT_EQ(back.node, "n1");
    EXPECT_EQ(back.sample, s);
    EXPECT_EQ(back.workers, moment.workers);
}

TEST(NodeConvert, FactsComeBackAsTheyWent) {
    NodeFacts facts;
    facts.info.hostname = "n1";
    facts.info.os = "Debian";
    facts.info.kernel = "6.1";
    facts.info.cpuModel = "cpu";
    facts.info.cores = 2;
    facts.info.memoryBytes = 9;
    facts.info.gpuNote = "no GPU: libnvidia-ml.so.1 not found";
    facts.info.version = "0.1.0";
    facts.info.startedMs = 4;
    facts.info.gpus = {{0, "H100", "uuid", "535", 80}};
    facts.address = "unix:/x";
    facts.stateDir = "/s";
    facts.pid = 77;
    const v1::NodeInfo message = toProto(facts);
    const NodeFacts back = fromProto(message);
    EXPECT_EQ(toProto(back).SerializeAsString(), message.SerializeAsString());
    EXPECT_EQ(back.info.gpus.at(0).name, "H100");
    EXPECT_EQ(back.info.gpuNote, facts.info.gpuNote);
    EXPECT_TRUE(back.isHead);
}

TEST(NodeConvert, PathsThatAreNoUtf8CanBeSent) {
    NodeFacts facts;
    facts.address = "unix:/caf\xe9/d.sock";
    facts.stateDir = "/caf\xe9";
    const v1::NodeInfo message = toProto(facts);
    v1::NodeInfo back;
    ASSERT_TRUE(back.ParseFromString(message.SerializeAsString())) << "as a client does";
    EXPECT_EQ(back.state_dir(), "/caf\xef\xbf\xbd");
}

}  // namespace
}  // namespace millrace::convert
