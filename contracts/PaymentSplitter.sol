// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {FeeSplitter} from "./FeeSplitter.sol";

/// Pays one account at a time; what the other is due stays here until it is asked for.
contract PaymentSplitter is FeeSplitter {
    constructor(address client_, uint256 clientFeeBps, address service_, uint256 serviceFeeBps)
        FeeSplitter(client_, clientFeeBps, service_, serviceFeeBps)
    {}

    function release(IERC20 token, address account) external nonReentrant {
        _collect(token);
        require(_pay(token, account) > 0, NothingDue(account));
    }
}
