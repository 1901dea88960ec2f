/* In place of unity_client.c, where "make TLS=openssl" asks for it: the same, and TLS by OpenSSL. */
#include "unity_client.c"
#include "../net/net_openssl.c"
