// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Never stored on a chain: a node is told to take it for the code of an account, and estimates what several calls of that account take
/// one after the other, or why one of them reverts.
contract Rehearsal {
    struct Call {
        address to;
        bytes data;
    }

    function rehearse(Call[] calldata calls) external {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool isDone, bytes memory answer) = calls[i].to.call(calls[i].data);
            if (isDone) continue;
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
    }
}
