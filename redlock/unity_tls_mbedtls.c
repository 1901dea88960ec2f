/* In place of unity_client.c, where "make TLS=mbedtls" asks for it: the same, and TLS by Mbed TLS. */
#include "unity_client.c"
#include "../net/net_mbedtls.c"
