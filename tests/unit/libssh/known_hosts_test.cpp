#include <gtest/gtest.h>

#include "app/ssh/libssh/host_keys.h"
#include "backend/filesystem/files.h"
#include "tests/support/temp_dir.h"

namespace millrace::libssh {
namespace {

Key generated(ssh_keytypes_e type, int bits) {
    ssh_key key = nullptr;
    EXPECT_EQ(ssh_pki_generate(type, bits, &key), SSH_OK);
    return Key(key);
}

std::string lineOf(const std::string& name, const Key& key) {
    char* text = nullptr;
    EXPECT_EQ(ssh_pki_export_pubkey_base64(key.get(), &text), SSH_OK);
    return strCat(name, " ", ssh_key_type_to_char(ssh_key_type(key.get())), " ", Text(text).get(),
                  "\n");
}

TEST(KnownHosts, EveryPlaceOfAHostIsFoundWithItsLine) {
    const tests::TempDir dir;
    const Key key = generated(SSH_KEYTYPE_ED25519, 0), other = generated(SSH_KEYTYPE_ED25519, 0);
    const Key ecdsa = generated(SSH_KEYTYPE_ECDSA_P256, 256);
    ASSERT_TRUE(writeFileAtomic(dir / "one", "# hosts\n\n" + lineOf("[box]:23", other) +
                                                 lineOf("elsewhere", key) +
                                                 lineOf("[box]:23", ecdsa))
                    .ok());
    ASSERT_TRUE(writeFileAtomic(dir / "two", "not a line\n@revoked " + lineOf("*", key)).ok());
    const std::vector<KnownPlace> places =
        findKnown({dir / "one", dir / "none", dir / "two"}, "[box]:23", key.get());
    ASSERT_EQ(places.size(), 3u);
    EXPECT_EQ(places[0].line, 3);
    EXPECT_TRUE(places[0].isSameType && !places[0].isSame && !places[0].isRevoked);
    EXPECT_EQ(places[1].line, 5);
    EXPECT_FALSE(places[1].isSameType || places[1].isSame);
    EXPECT_EQ(places[2].file, dir / "two");
    EXPECT_TRUE(places[2].line == 2 && places[2].isSame && places[2].isRevoked);
}

TEST(KnownHosts, NamesAreSshs) {
    EXPECT_EQ(knownHostsName("box", 22), "box");
    EXPECT_EQ(knownHostsName("box", 23), "[box]:23");
    EXPECT_EQ(keyTypeName(SSH_KEYTYPE_ECDSA_P384), "ECDSA");
    EXPECT_EQ(fingerprintOf(generated(SSH_KEYTYPE_ED25519, 0).get()).substr(0, 7), "SHA256:");
}

}  // namespace
}  // namespace millrace::libssh
