// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Calls back whoever calls it, with what it was given before.
contract Reenterer {
    address public target;
    bytes public data;

    function prepare(address target_, bytes calldata data_) external {
        target = target_;
        data = data_;
    }

    receive() external payable {
        _call();
    }

    function _call() private {
        (bool isSuccess, bytes memory answer) = target.call(data);
        if (isSuccess) return;
        assembly ("memory-safe") {
            revert(add(answer, 0x20), mload(answer))
        }
    }
}
