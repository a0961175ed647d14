/* sha256: the examples of FIPS 180-4, and every length around a block's end against one that is added byte by byte. */
#include <criterion/criterion.h>
#include <string.h>

#include "../sha256.h"

TestSuite(sha256, .timeout = 20);

static char digest[SHA256_TEXT_BYTES];

static const char *of(const char *data, size_t size, int times) {
    struct sha256 hash;
    sha256_begin(&hash);
    for (int i = 0; i < times; i++) { sha256_add(&hash, data, size); }
    sha256_end(&hash, digest);
    return digest;
}

Test(sha256, examples_of_the_standard) {
    cr_assert_str_eq(of("", 0, 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    cr_assert_str_eq(of("abc", 3, 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    cr_assert_str_eq(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 1),
                     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    cr_assert_str_eq(of("aaaaaaaaaa", 10, 100000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Test(sha256, pieces_do_not_matter_and_every_length_differs) {
    char text[200], before[SHA256_TEXT_BYTES] = "", whole[SHA256_TEXT_BYTES];
    memset(text, 'x', sizeof text);
    for (size_t length = 0; length < sizeof text; length++) {
        strcpy(whole, of(text, length, 1));
        cr_assert_str_eq(of("x", 1, (int)length), whole);
        cr_assert(strcmp(whole, before) != 0);
        strcpy(before, whole);
    }
}
