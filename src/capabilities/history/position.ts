/**
 * A transaction's place on its chain as one number: the block's number, and the transaction's index in it. Later ones have higher
 * numbers, and no safe integer is too small for the chains that there are.
 */
const PLACES = 2 ** 20;

export const positionOf = (blockNumber: number, index: number): number => blockNumber * PLACES + index;

/** Of the first transaction of a block; lower than that are those of all blocks before. */
export const beginOf = (blockNumber: number): number => positionOf(blockNumber, 0);

export const blockNumberOf = (position: number): number => Math.floor(position / PLACES);
