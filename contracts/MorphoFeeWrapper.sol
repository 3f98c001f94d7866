// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";
import {FeeWrapper} from "./FeeWrapper.sol";
import {PaymentSplitter} from "./PaymentSplitter.sol";

/// A wrapper over a vault of Morpho, with its splitter.
contract MorphoFeeWrapper is FeeWrapper {
    PaymentSplitter private immutable _splitter;

    constructor(IERC4626 vault_, address client, uint256 clientFeeBps, address service, uint256 serviceFeeBps)
        FeeWrapper(vault_, clientFeeBps, serviceFeeBps)
    {
        _splitter = new PaymentSplitter(client, clientFeeBps, service, serviceFeeBps);
    }

    function performanceFeeRecipient() public view override returns (address) {
        return address(_splitter);
    }
}
