/* Replaces unity_client.c if "make TLS=openssl" asks for it, and adds TLS by OpenSSL. */
#include "unity_client.c"
#include "../net/net_openssl.c"
