// The agent's values as messages: large values stay within a message's limit.
#include <gtest/gtest.h>

#include "backend/text/json.h"
#include "daemon/agent/run/receipts.h"
#include "daemon/agent/run_service.h"
#include "proto/convert/detail_convert.h"
#include "proto/convert/rpc_options.h"

namespace millrace::rpc {
namespace {

TEST(RunMessages, ARunOfFiftyThousandFilesCanBeShown) {
    constexpr int kFiles = 50'000;
    Json files = Json::array(), planned = Json::array();
    for (int i = 0; i < kFiles; ++i) {
        const std::string path =
            strCat("day=2026-01-01/hour=07/part-00000-of-50000-", i, ".parquet");
        files.push_back({{"path", path},
                         {"relative_path", path},
                         {"bytes", 123456},
                         {"footer_hash", std::string(32, 'a')},
                         {"rows", 1000}});
    }
    values::RunDetail detail;
    detail.summary.id = "r-abc23";
    const std::string receipt = dumpJson({{"files", files}, {"rows_kept", 7}});
    ASSERT_GT(receipt.size(), 8U << 20);
    const auto shown = agent::shownReceipt(receipt, agent::kReceiptFilesShown);
    ASSERT_TRUE(shown.ok()) << shown.status();
    detail.receipt = *shown;
    const v1::GetRunResponse response = convert::toProto(detail);
    EXPECT_LT(response.ByteSizeLong(), static_cast<std::size_t>(kMaxMessageBytes) / 8);
    EXPECT_EQ(response.receipt().files_total(), static_cast<std::uint32_t>(kFiles));
    EXPECT_EQ(response.receipt().files_size(), 1'000);
    EXPECT_EQ(response.receipt().rows_kept(), 7);
    const auto json = parseJson(response.receipt().json(), "receipt");
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_EQ(jsonInt(*json, "files_total"), kFiles);
}

TEST(RunMessages, AReceiptOfFewFilesIsShownAsItIsStored) {
    values::RunDetail detail;
    const std::string receipt = R"({"files":[{"path":"a.csv","rows":3}],"rows_kept":7})";
    detail.receipt = *agent::shownReceipt(receipt, agent::kReceiptFilesShown);
    const v1::GetRunResponse response = convert::toProto(detail);
    EXPECT_EQ(response.receipt().json(), receipt);
    EXPECT_EQ(response.receipt().files_total(), 1U);
}

}  // namespace
}  // namespace millrace::rpc
