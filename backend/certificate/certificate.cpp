#include "backend/certificate/certificate.h"

#include <array>
#include <memory>
#include <utility>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/filesystem/files.h"

namespace millrace::certificate {
namespace {

constexpr std::size_t kPemBytesMost = std::size_t{1} << 20;

struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
    void operator()(BIO* bio) const { BIO_free(bio); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

Status opensslError(std::string_view what) {
    char text[256] = "no reason given";
    if (const unsigned long code = ERR_get_error(); code != 0) {
        ERR_error_string_n(code, text, sizeof text);
    }
    ERR_clear_error();
    return internalError("certificate: ", what, ": ", text);
}

bool addExtension(X509* certificate, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    const Owned<X509_EXTENSION> extension(
        X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
    return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool setSerial(X509* certificate) {
    std::uint64_t serial = 0;
    return RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1;
}

bool setName(X509* certificate, const std::string& name) {
    X509_NAME* subject = X509_get_subject_name(certificate);
    return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                      0) == 1 &&
           X509_set_issuer_name(certificate, subject) == 1;
}

bool fill(X509* certificate, EVP_PKEY* key, const std::string& name) {
    return X509_set_version(certificate, 2) == 1 && setSerial(certificate) &&
           ASN1_TIME_set_string(X509_getm_notBefore(certificate), "20000101000000Z") == 1 &&
           ASN1_TIME_set_string(X509_getm_notAfter(certificate), "99991231235959Z") == 1 &&
           X509_set_pubkey(certificate, key) == 1 && setName(certificate, name) &&
           addExtension(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           addExtension(certificate, NID_subject_alt_name, "DNS:" + name) &&
           X509_sign(certificate, key, EVP_sha256()) > 0;
}

template <class Write>
Result<std::string> pemOf(Write write) {
    const Owned<BIO> bio(BIO_new(BIO_s_mem()));
    if (bio == nullptr || write(bio.get()) != 1) {
        return opensslError("as text");
    }
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    return std::string(text, static_cast<std::size_t>(size));
}

// The first certificate in a PEM text; null if there is none. Never asks for a passphrase.
Owned<X509> certificateOf(const std::string& pem) {
    const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    return Owned<X509>(bio == nullptr ? nullptr
                                      : PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

Owned<EVP_PKEY> keyOf(const std::string& pem) {
    const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    char none[] = "";
    return Owned<EVP_PKEY>(
        bio == nullptr ? nullptr : PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, none));
}

}  // namespace

bool isCertificate(const std::string& pem) {
    return certificateOf(pem) != nullptr;
}

Result<Certificate> makeCertificate(std::string_view name) {
    const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
    if (key == nullptr) {
        return opensslError("a key");
    }
    const Owned<X509> certificate(X509_new());
    if (certificate == nullptr || !fill(certificate.get(), key.get(), std::string(name))) {
        return opensslError(name);
    }
    Certificate made;
    ASSIGN_OR_RETURN(made.certificatePem,
                     pemOf([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); }));
    ASSIGN_OR_RETURN(made.keyPem, pemOf([&](BIO* bio) {
                         return PEM_write_bio_PKCS8PrivateKey(bio, key.get(), nullptr, nullptr, 0,
                                                              nullptr, nullptr);
                     }));
    return made;
}

// Same rule as in ssh: a process that can read the key can impersonate this user. A key that
// belongs to another user, such as root's with a group, is not checked.
Status checkGuarded(const std::string& key) {
    struct ::stat file{};
    constexpr ::mode_t kOthers = S_IRWXG | S_IRWXO;
    if (::stat(key.c_str(), &file) != 0 || file.st_uid != ::geteuid() ||
        (file.st_mode & kOthers) == 0) {
        return okStatus();
    }
    return permissionDenied(key, ": other users may read this key; 'chmod 600 ", key,
                            "' closes it, and give out a new one if somebody may have read it");
}

Result<PairTexts> readPair(const PairFiles& files) {
    PairTexts texts;
    RETURN_IF_ERROR(checkGuarded(files.key));
    ASSIGN_OR_RETURN(texts.own.certificatePem, readFile(files.certificate, kPemBytesMost));
    ASSIGN_OR_RETURN(texts.own.keyPem, readFile(files.key, kPemBytesMost));
    ASSIGN_OR_RETURN(texts.authorityPem, readFile(files.authority, kPemBytesMost));
    const auto certificate = certificateOf(texts.own.certificatePem);
    const auto key = keyOf(texts.own.keyPem);
    const auto authority = certificateOf(texts.authorityPem);
    const bool isPair = certificate != nullptr && key != nullptr &&
                        X509_check_private_key(certificate.get(), key.get()) == 1;
    ERR_clear_error();
    for (const auto& [isThere, file] : {std::pair(certificate != nullptr, &files.certificate),
                                        std::pair(authority != nullptr, &files.authority)}) {
        if (!isThere) {
            return invalidArgument(*file,
                                   ": is not a certificate; give one in PEM (it begins with "
                                   "-----BEGIN CERTIFICATE-----)");
        }
    }
    if (key == nullptr) {
        return invalidArgument(files.key,
                               ": is not a readable private key; give one in PEM "
                               "without a passphrase (it begins with -----BEGIN)");
    }
    if (!isPair) {
        return invalidArgument(files.key, ": is not the key of the certificate ", files.certificate,
                               "; give the two that were made together");
    }
    return texts;
}

std::string sha256Hex(std::string_view bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
    std::string text;
    for (const unsigned char byte : digest) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

}  // namespace millrace::certificate
