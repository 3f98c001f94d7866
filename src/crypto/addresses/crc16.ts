const POLYNOMIAL = 0x1021;

/** CRC-16/XMODEM (start 0, most significant bit first), the checksum of StrKey and of TON addresses. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000) === 0 ? crc << 1 : ((crc << 1) ^ POLYNOMIAL) & 0xffff;
    }
  }
  return crc;
}
