#include "app/gui/widgets/live/node_deck.h"

#include <QTest>
#include <random>

#include <gtest/gtest.h>

#include "app/gui/widgets/live/node_card.h"
#include "tests/support/watch_scene.h"

namespace millrace::gui {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;

struct NodeDeckTest : testing::Test {
    void fill(int nodes, int gpus) {
        std::vector<values::NodeInfo> infos;
        for (int i = 0; i < nodes; ++i) {
            infos.push_back(client::sceneNode("node-" + std::to_string(10 + i), 16, gpus));
        }
        model.setNodes(infos);
        for (const values::NodeInfo& info : infos) {
            model.addSample(client::sceneSample(info, kNow), kNow);
        }
    }
    NodeModel model;
};

TEST_F(NodeDeckTest, OpensFewMachinesAndClosesMany) {
    NodeDeck deck(model);
    deck.resize(320, 800);
    deck.show();
    fill(2, 0);
    EXPECT_TRUE(deck.card("node-10")->isOpen());
    fill(64, 0);
    EXPECT_FALSE(deck.card("node-10")->isOpen());
    QTest::keyClick(deck.card("node-10"), Qt::Key_Return);
    EXPECT_TRUE(deck.card("node-10")->isOpen());
    EXPECT_FALSE(deck.card("node-11")->isOpen());
}

TEST_F(NodeDeckTest, FlowsIntoAsManyColumnsAsFit) {
    NodeDeck deck(model);
    fill(6, 0);
    deck.show();
    deck.resize(300, 800);
    EXPECT_EQ(deck.numColumns(), 1);
    deck.resize(900, 800);
    EXPECT_EQ(deck.numColumns(), 3);
    for (int i = 10; i < 16; ++i) {
        for (int j = 10; j < i; ++j) {
            const QRect a = deck.card("node-" + std::to_string(i))->geometry();
            const QRect b = deck.card("node-" + std::to_string(j))->geometry();
            EXPECT_FALSE(a.intersects(b)) << i << " " << j;
        }
    }
}

TEST_F(NodeDeckTest, ACardNamesWhoWorksThereAndGrowsWithThem) {
    fill(1, 0);
    NodeCard card(model, "node-10");
    values::NodeSample sample = *model.node(0).sample;
    sample.processes.clear();
    sample.timeMs = kNow + 1'000;
    model.addSample(sample, kNow + 1'000);
    const int bare = card.sizeHint().height();
    for (const char* worker : {"data10", "data2"}) {
        sample.processes.push_back({"r-abc23", worker, 7, 97.0, 210'000'000});
    }
    sample.timeMs = kNow + 2'000;
    model.addSample(sample, kNow + 2'000);
    EXPECT_GT(card.sizeHint().height(), bare);
    const QString text = card.summary();
    EXPECT_TRUE(text.contains("data2 of r-abc23: CPU 97 %, memory 210 MB")) << text.toStdString();
    EXPECT_LT(text.indexOf("data2 "), text.indexOf("data10 ")) << "in the order of their numbers";
    sample.processes.resize(40, sample.processes.front());
    sample.timeMs = kNow + 3'000;
    model.addSample(sample, kNow + 3'000);
    EXPECT_LT(card.sizeHint().height(), 2 * bare + 400) << "of many the first";
}

TEST_F(NodeDeckTest, ACardGrowsWhileAnotherPageIsShown) {
    NodeDeck deck(model);
    deck.resize(320, 800);
    deck.show();
    fill(1, 0);
    deck.hide();
    values::NodeSample sample = *model.node(0).sample;
    sample.processes.push_back({"r-abc23", "rank0", 7, 97.0, 210'000'000});
    sample.processes.push_back({"r-abc23", "data0", 8, 97.0, 210'000'000});
    sample.processes.push_back({"r-abc23", "data1", 9, 97.0, 210'000'000});
    sample.timeMs = kNow + 1'000;
    model.addSample(sample, kNow + 1'000);
    deck.show();
    const NodeCard* card = deck.card("node-10");
    EXPECT_EQ(card->height(), card->sizeHint().height());
}

TEST_F(NodeDeckTest, AScrollBarThatComesCoversNoCard) {
    NodeDeck deck(model);
    fill(1, 0);
    deck.show();
    deck.resize(320, deck.card("node-10")->height() + 20);
    const int before = deck.viewport()->width();
    values::NodeSample sample = *model.node(0).sample;
    sample.processes.resize(6, {"r-abc23", "rank0", 7, 97.0, 210'000'000});
    sample.timeMs = kNow + 1'000;
    model.addSample(sample, kNow + 1'000);
    QCoreApplication::processEvents();
    EXPECT_LT(deck.viewport()->width(), before);
    EXPECT_EQ(deck.card("node-10")->width(), deck.viewport()->width());
}

// Each card always has the height that its content needs, and its whole width is visible.
TEST_F(NodeDeckTest, EachCardHasRoomForItsContentWhateverHappens) {
    NodeDeck deck(model);
    deck.resize(320, 600);
    deck.show();
    fill(2, 1);
    std::mt19937 random(20);
    std::int64_t now = kNow;
    for (int i = 0; i < 400; ++i) {
        SCOPED_TRACE(i);
        const std::string name = random() % 2 == 0 ? "node-10" : "node-11";
        values::NodeSample sample = *model.find(name)->sample;
        switch (random() % 6) {
            case 0:
                deck.setVisible(!deck.isVisible());
                break;
            case 1:
                deck.resize(260 + static_cast<int>(random() % 500),
                            200 + static_cast<int>(random() % 900));
                break;
            case 2:
                deck.card(name)->setOpen(!deck.card(name)->isOpen());
                break;
            default:
                sample.processes.resize(random() % 7, {"r-abc23", "rank0", 7, 97.0, 210'000'000});
                sample.corePercent.resize(random() % 200, 50);
                now += 1'000;
                sample.timeMs = now;
                model.addSample(sample, now);
        }
        for (const char* node : {"node-10", "node-11"}) {
            const NodeCard* card = deck.card(node);
            ASSERT_EQ(card->height(), card->sizeHint().height()) << node;
            ASSERT_LE(card->geometry().right(), deck.viewport()->width()) << node;
        }
    }
}

TEST_F(NodeDeckTest, SaysUnknownAndNoGpuInWords) {
    model.setNodes({client::sceneNode("bare", 4, 0)});
    NodeCard card(model, "bare");
    EXPECT_TRUE(card.summary().contains("CPU n/a"));
    EXPECT_TRUE(card.summary().contains("no GPU: libnvidia-ml.so.1 is not installed"));
    values::NodeSample sample;
    sample.node = "bare";
    sample.timeMs = kNow;
    sample.cpuPercent = 0;
    model.addSample(sample, kNow);
    EXPECT_TRUE(card.summary().contains("CPU 0 %"));
    EXPECT_TRUE(card.summary().contains("memory n/a"));
    model.refresh(kNow + 12'100);
    EXPECT_TRUE(card.summary().contains("stale 12 s"));
}

TEST_F(NodeDeckTest, SaysThatANodeIsDrainedOrLost) {
    values::NodeInfo info = client::sceneNode("bare", 4, 0);
    model.setNodes({info});
    NodeCard card(model, "bare");
    EXPECT_FALSE(card.summary().contains("drained"));
    for (const char* state : {"drained", "lost"}) {
        info.state = state;
        model.setNodes({info});
        EXPECT_TRUE(card.summary().contains(state)) << card.summary().toStdString();
    }
}

TEST_F(NodeDeckTest, GrowsWithGpusAndPaintsInAnySize) {
    NodeDeck deck(model);
    deck.show();
    fill(1, 0);
    const int without = deck.card("node-10")->height();
    fill(1, 8);
    EXPECT_TRUE(QTest::qWaitFor([&] { return deck.card("node-10")->height() > without; }, 5'000));
    EXPECT_GT(deck.card("node-10")->height(), without + 200);
    for (int width : {240, 320, 1'000}) {
        deck.resize(width, 600);
        EXPECT_FALSE(deck.grab().isNull());
    }
}

}  // namespace
}  // namespace millrace::gui
