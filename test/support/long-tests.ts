/** `KEYSTEAD_LONG_TESTS=1`: tests run as long and as often as a release is held to. */
export const areLong = process.env.KEYSTEAD_LONG_TESTS === "1";
